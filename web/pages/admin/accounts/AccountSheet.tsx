import type { Answer } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { useApi, call } from '../../../lib/api.ts';
import { useForm } from '../../../lib/form.ts';
import { parseUsd } from '../../../lib/money.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge } from '../../../ui/Badge.tsx';
import { Button } from '../../../ui/Button.tsx';
import { CopyText } from '../../../ui/Copy.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { SelectField, TextField } from '../../../ui/Field.tsx';
import { Changeable, Form } from '../../../ui/Form.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Loaded, Skeleton, FormError } from '../../../ui/States.tsx';
import { Time } from '../../../ui/Time.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { RequestStatus } from '../../requests/RequestStatus.tsx';
import { AccessActions } from './AccessActions.tsx';
import { MoneyForm } from './MoneyForm.tsx';
import { ACCOUNT_READS } from './refresh.ts';

type AdminAccountDetail = Answer<'GET /api/console/admin/accounts/{id}'>;

/** Everything about one account, and what can be done to it, without leaving the list. */
export function AccountSheet({ id, onClose }: { id: string | undefined; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog open={id !== undefined} onClose={onClose} kind="sheet" title={t('accounts.detail')}>
      {id ? <Body id={id} /> : null}
    </Dialog>
  );
}

function Body({ id }: { id: string }) {
  const detail = useApi('GET /api/console/admin/accounts/{id}', { params: { id } });
  return (
    <Loaded query={detail} skeleton={<Skeleton className="h-96 w-full" />}>
      {(account) => (
        <div className="flex flex-col gap-7">
          <Facts account={account} />
          <MoneyForm account={account} />
          <Changeable right="change_catalog">
            <PriceGroup account={account} />
          </Changeable>
          <Changeable right="change_accounts">
            <LimitsForm account={account} key={JSON.stringify(account.limits)} />
          </Changeable>
          <AccessActions account={account} />
          <Latest account={account} />
        </div>
      )}
    </Loaded>
  );
}

function Facts({ account }: { account: AdminAccountDetail }) {
  const { t } = useTranslation();
  return (
    <section>
      <div className="flex flex-wrap items-center gap-2">
        <h3 className="min-w-0 truncate text-lg font-semibold">{account.email}</h3>
        {account.role ? <Badge tone="good">{t(`operators.roles.${account.role}`)}</Badge> : null}
        <Badge tone={account.status === 'active' ? 'neutral' : 'bad'}>
          {t(`accounts.${account.status}`)}
        </Badge>
        {account.hasSignIn ? null : <Badge>{t('accounts.noSignIn')}</Badge>}
      </div>
      <CopyText text={account.id} className="text-xs" />
      <dl className="mt-4 grid grid-cols-2 gap-px overflow-hidden rounded-md border border-line bg-line sm:grid-cols-4">
        {[
          { label: t('accounts.balance'), value: <Money usd={account.balanceUsd} /> },
          { label: t('accounts.held'), value: <Money usd={account.heldUsd} /> },
          { label: t('common.today'), value: <Money usd={account.spend.todayUsd} /> },
          { label: t('common.days30'), value: <Money usd={account.spend.days30Usd} /> },
        ].map(({ label, value }) => (
          <div key={label} className="min-w-0 bg-surface px-3 py-2.5">
            <dt className="text-xs text-ink-3">{label}</dt>
            <dd className="truncate font-medium">{value}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-3 flex flex-wrap gap-x-4 text-sm text-ink-3">
        <span>
          {t('accounts.twoFactor')}: {account.twoFactor ? t('accounts.on') : t('accounts.off')}
        </span>
        <span>
          {t('accounts.sessions')}: {account.sessions}
        </span>
        <span>
          {t('accounts.created')}: <Time at={account.createdAt} style="date" />
        </span>
      </p>
    </section>
  );
}

/** Also for one that the catalog does not have any more: its account pays the list prices. */
function PriceGroup({ account }: { account: AdminAccountDetail }) {
  const { t } = useTranslation();
  const { id, priceGroup, priceGroups } = account;
  const save = useAction(
    (group: string | null) =>
      call('PUT /api/console/admin/accounts/{id}/price-group', { params: { id }, body: { group } }),
    { refresh: ACCOUNT_READS, onDone: () => toast(t('common.saved')) },
  );
  if (priceGroups.length === 0 && priceGroup === null) return null;
  const names = [...new Set([...priceGroups, ...(priceGroup === null ? [] : [priceGroup])])];
  return (
    <div className="flex flex-col gap-3">
      <SelectField
        label={t('accounts.priceGroup')}
        hint={t('accounts.priceGroupHint')}
        value={priceGroup ?? ''}
        disabled={save.isPending}
        onChange={({ target }) => save.mutate(target.value === '' ? null : target.value)}
      >
        <option value="">{t('accounts.listPrices')}</option>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </SelectField>
      <FormError error={save.error} />
    </div>
  );
}

const RATE_LIMITS = ['chatPerMinute', 'imagesPerMinute', 'concurrent'] as const;

function LimitsForm({ account }: { account: AdminAccountDetail }) {
  const { t } = useTranslation();
  const { limits, defaults } = account;
  const { values, field } = useForm({
    chatPerMinute: limits.chatPerMinute?.toString() ?? '',
    imagesPerMinute: limits.imagesPerMinute?.toString() ?? '',
    concurrent: limits.concurrent?.toString() ?? '',
    monthlyUsd: limits.monthlyUsd ?? '',
  });
  const monthlyUsd = values.monthlyUsd.trim() === '' ? null : parseUsd(values.monthlyUsd);
  const wrong = monthlyUsd === undefined || monthlyUsd?.startsWith('-') === true;
  const save = useAction(
    async () => {
      const [chatPerMinute, imagesPerMinute, concurrent] = RATE_LIMITS.map((name) => whole(values[name]));
      const body = {
        chatPerMinute: chatPerMinute ?? null,
        imagesPerMinute: imagesPerMinute ?? null,
        concurrent: concurrent ?? null,
        monthlyUsd: monthlyUsd ?? null,
      };
      return await call('PATCH /api/console/admin/accounts/{id}/limits', {
        params: { id: account.id },
        body,
      });
    },
    { refresh: ACCOUNT_READS, onDone: () => toast(t('common.saved')) },
  );
  return (
    <Form className="flex flex-col items-start gap-3" onSubmit={() => !wrong && save.mutate()}>
      <div>
        <h3 className="font-semibold">{t('accounts.limits')}</h3>
        <p className="text-sm text-ink-3">{t('accounts.limitsHint')}</p>
      </div>
      <div className="grid w-full grid-cols-2 gap-3">
        {RATE_LIMITS.map((name) => (
          <TextField
            key={name}
            label={t(`accounts.${name}`)}
            type="number"
            min={1}
            step={1}
            placeholder={String(defaults[name])}
            {...field(name)}
          />
        ))}
        <TextField
          label={t('accounts.monthly')}
          inputMode="decimal"
          placeholder={t('common.unlimited')}
          error={wrong ? t('settings.badAmount') : undefined}
          {...field('monthlyUsd')}
        />
      </div>
      <FormError error={save.error} />
      <Button type="submit" small busy={save.isPending} disabled={wrong}>
        {t('accounts.saveLimits')}
      </Button>
    </Form>
  );
}

function whole(text: string): number | null {
  return text.trim() === '' ? null : Number(text);
}

function Latest({ account }: { account: AdminAccountDetail }) {
  const { t } = useTranslation();
  return (
    <section>
      <div className="mb-2 flex items-baseline justify-between">
        <h3 className="font-semibold">{t('accounts.latest')}</h3>
        <Link href={`/admin/requests?account=${account.id}`} className="text-sm text-accent hover:underline">
          {t('accounts.allRequests')}
        </Link>
      </div>
      <ul className="divide-y divide-line border-y border-line text-sm">
        {account.latest.map((row) => (
          <li key={row.id} className="flex items-center gap-3 py-2">
            <Time at={row.at} />
            <span className="min-w-0 flex-1 truncate">{row.model}</span>
            <RequestStatus request={row} />
            <Money usd={row.chargedUsd} kind="charge" plain />
          </li>
        ))}
      </ul>
      <h3 className="mt-6 mb-2 font-semibold">{t('accounts.entries')}</h3>
      <ul className="divide-y divide-line border-y border-line text-sm">
        {account.entries.map((entry) => (
          <li key={entry.id} className="flex items-center gap-3 py-2">
            <Time at={entry.at} />
            <span className="min-w-0 flex-1 truncate" title={entry.cause}>
              {t(`billing.kinds.${entry.kind}`)} <span className="text-ink-3">{entry.cause}</span>
            </span>
            <Money usd={entry.amountUsd} kind="charge" sign plain />
          </li>
        ))}
      </ul>
    </section>
  );
}
