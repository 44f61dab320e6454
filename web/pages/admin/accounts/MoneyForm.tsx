import { useState } from 'react';
import type { Answer } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useForm } from '../../../lib/form.ts';
import { formatExactUsd, parseUsd } from '../../../lib/money.ts';
import { randomKey } from '../../../lib/browser.ts';
import { useUser } from '../../../lib/session.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Segments } from '../../../ui/Segments.tsx';
import { FormError } from '../../../ui/States.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { ACCOUNT_READS } from './refresh.ts';
import { Form } from '../../../ui/Form.tsx';

const RIGHTS = { credit: 'give_money', refund: 'give_money', adjust: 'adjust_money' } as const;
const KINDS = ['credit', 'refund', 'adjust'] as const;
type Kind = (typeof KINDS)[number];

const EMPTY = { amount: '', cause: '', requestId: '' };

/** Credit, refund, adjust: one form, because they differ only in sign and in what they refer to. */
export function MoneyForm({ account }: { account: Answer<'GET /api/console/admin/accounts/{id}'> }) {
  const { t } = useTranslation();
  const [kind, setKind] = useState<Kind>('credit');
  const { rights } = useUser();
  const kinds = KINDS.filter((one) => rights.includes(RIGHTS[one]));
  if (!kinds.includes(kind)) return null;
  return (
    <section>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
        <h3 className="font-semibold">{t('accounts.money')}</h3>
        <Segments
          label={t('accounts.money')}
          value={kind}
          onChange={setKind}
          options={kinds.map((value) => ({ value, label: t(`accounts.${value}`) }))}
        />
      </div>
      <Booking key={kind} kind={kind} accountId={account.id} />
    </section>
  );
}

function Booking({ kind, accountId }: { kind: Kind; accountId: string }) {
  const { t, i18n } = useTranslation();
  const { values, field, reset } = useForm(EMPTY);
  // The key makes a form that is sent twice count once; a new one is made after each booking.
  const [once, setOnce] = useState(randomKey);
  const amountUsd = parseUsd(values.amount);
  const wrong =
    values.amount !== '' && (amountUsd === undefined || (kind !== 'adjust' && amountUsd.startsWith('-')));
  const book = useAction(
    async () => {
      const requestId = values.requestId.trim();
      const body = {
        amountUsd: amountUsd ?? '0',
        cause: values.cause.trim(),
        ...(requestId ? { requestId } : {}),
      };
      return await call(ROUTES[kind], { params: { id: accountId }, body, key: once });
    },
    {
      refresh: ACCOUNT_READS,
      onDone: ({ balanceUsd }) => {
        toast(t('accounts.booked', { balance: formatExactUsd(balanceUsd, i18n.language) }));
        reset();
        setOnce(randomKey());
      },
    },
  );
  const amountError = wrong ? t('settings.badAmount') : undefined;
  // The amount as it was parsed: decimal marks mean different things to different people.
  const understood = amountUsd ? `= ${formatExactUsd(amountUsd, i18n.language)}` : undefined;
  return (
    <Form className="flex flex-col gap-3" onSubmit={() => !wrong && book.mutate()}>
      <p className="text-sm text-ink-3">{t(`accounts.${kind}Hint`)}</p>
      <div className="grid gap-3 sm:grid-cols-[10rem_1fr]">
        <TextField
          label={t('accounts.amount')}
          inputMode="decimal"
          required
          placeholder="10.00"
          error={amountError}
          hint={understood}
          {...field('amount')}
        />
        <TextField
          label={t('accounts.cause')}
          hint={t('accounts.causeHint')}
          required
          maxLength={200}
          {...field('cause')}
        />
      </div>
      {kind === 'refund' ? (
        <TextField label={t('accounts.requestId')} className="font-mono" {...field('requestId')} />
      ) : null}
      <FormError error={book.error} />
      <Button type="submit" kind="primary" small busy={book.isPending} className="self-start">
        {t(`accounts.${kind}`)}
      </Button>
    </Form>
  );
}

const ROUTES = {
  credit: 'POST /api/console/admin/accounts/{id}/credit',
  refund: 'POST /api/console/admin/accounts/{id}/refund',
  adjust: 'POST /api/console/admin/accounts/{id}/adjust',
} as const;
