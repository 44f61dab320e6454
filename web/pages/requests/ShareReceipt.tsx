import { useState } from 'react';
import Share2 from 'lucide-react/icons/share-2';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { publicOrigin } from '../../lib/origin.ts';
import { formatTime } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Input, Field, SelectField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { SharedLinks } from './SharedLinks.tsx';

const DAYS = [1, 7, 30] as const;

/** A link to the receipt for others; it expires by itself, and can be ended earlier. */
export function ShareReceipt({ id }: { id: string }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small icon={<Share2 size={14} aria-hidden />} onClick={() => setOpen(true)}>
        {t('timeline.shareGo')}
      </Button>
      <Dialog open={open} onClose={() => setOpen(false)} title={t('timeline.shareTitle')}>
        <ShareForm id={id} />
      </Dialog>
    </>
  );
}

function ShareForm({ id }: { id: string }) {
  const { t, i18n } = useTranslation();
  const [days, setDays] = useState<(typeof DAYS)[number]>(7);
  const share = useAction(
    () => call('POST /api/console/requests/{id}/share', { params: { id }, body: { days } }),
    { refresh: ['GET /api/console/receipt-links'] },
  );
  const link = share.data && `${publicOrigin()}${share.data.path}`;
  return (
    <div className="flex flex-col gap-4">
      <p className="text-ink-2">{t('timeline.shareLead')}</p>
      <div className="flex flex-wrap items-end gap-3">
        <SelectField
          label={t('timeline.shareFor')}
          data-autofocus
          value={days}
          onChange={(event) => {
            share.reset();
            setDays(DAYS.find((one) => String(one) === event.target.value) ?? 7);
          }}
        >
          {DAYS.map((count) => (
            <option key={count} value={count}>
              {t('timeline.days', { count })}
            </option>
          ))}
        </SelectField>
        <Button kind={link ? 'plain' : 'primary'} busy={share.isPending} onClick={() => share.mutate()}>
          {t('timeline.shareMake')}
        </Button>
      </div>
      <FormError error={share.error} />
      {link ? (
        <>
          <Field
            label={t('timeline.shareLink')}
            hint={t('timeline.shareUntil', {
              time: formatTime(share.data.expiresAt, i18n.language, 'short'),
            })}
          >
            {(ids) => <Input {...ids} readOnly value={link} onFocus={(event) => event.target.select()} />}
          </Field>
          <div>
            <CopyButton text={link} kind="primary" />
          </div>
        </>
      ) : null}
      <SharedLinks requestId={id} onEnded={(ended) => ended === share.data?.id && share.reset()} />
    </div>
  );
}
