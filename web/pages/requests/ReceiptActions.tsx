import Play from 'lucide-react/icons/play';
import type { ReceiptDetail } from '../../lib/answers.ts';
import { hrefWith } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { LinkButton, Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { asCurl } from './curl.ts';
import { useState } from 'react';
import Share2 from 'lucide-react/icons/share-2';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { publicOrigin } from '../../lib/browser.ts';
import { formatTime } from '../../lib/time.ts';
import { Dialog } from '../../ui/Dialog.tsx';
import { Input, Field, SelectField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { SharedLinks } from './SharedLinks.tsx';

export function ReceiptActions({ receipt }: { receipt: ReceiptDetail }) {
  const { t } = useTranslation();
  const play = playgroundHref(receipt);
  return (
    <div className="flex flex-col gap-3 border-t border-line pt-4">
      <div className="flex flex-wrap gap-2">
        {play ? (
          <LinkButton small href={play} icon={<Play size={14} aria-hidden />}>
            {t('timeline.play')}
          </LinkButton>
        ) : null}
        <ShareReceipt id={receipt.id} />
        <CopyButton text={asCurl(receipt)} label={t('receipt.curl')} />
      </div>
      <p className="text-sm text-ink-3">{t(play ? 'timeline.playHint' : 'receipt.curlHint')}</p>
    </div>
  );
}

/** For administrators, who see other people's receipts. */
export function CopyCurl({ receipt }: { receipt: ReceiptDetail }) {
  const { t } = useTranslation();
  return (
    <div className="flex flex-wrap items-center gap-3 border-t border-line pt-4">
      <CopyButton text={asCurl(receipt)} label={t('receipt.curl')} />
      <p className="flex-1 basis-60 text-sm text-ink-3">{t('receipt.curlHint')}</p>
    </div>
  );
}

/** Undefined if the model is no longer sold, or the playground cannot make such a request. */
function playgroundHref({ playable, endpoint, model, outputCap }: ReceiptDetail): string | undefined {
  const choice = `${endpoint} ${model}`;
  if (playable === 'chat_completion')
    return hrefWith('/app/playground', { model: choice, max_tokens: String(outputCap) });
  if (playable === 'image_generation') return hrefWith('/app/playground', { tab: 'images', model: choice });
  return undefined;
}

const DAYS = [1, 7, 30] as const;

/** A link to the receipt for others; it expires by itself, and can be ended earlier. */
function ShareReceipt({ id }: { id: string }) {
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
