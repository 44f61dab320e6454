import Play from 'lucide-react/icons/play';
import type { ReceiptDetail } from '../../lib/answers.ts';
import { hrefWith } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { LinkButton } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { asCurl } from './curl.ts';
import { ShareReceipt } from './ShareReceipt.tsx';

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
