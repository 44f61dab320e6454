import Check from 'lucide-react/icons/check';
import CopyIcon from 'lucide-react/icons/copy';
import { classes } from '../lib/classes.ts';
import { useCopy } from '../lib/clipboard.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Button, IconButton, type ButtonKind } from './Button.tsx';

interface CopyProps {
  readonly text: string;
  readonly label?: string;
  readonly className?: string;
}

export function CopyIconButton({ text, label, className = '' }: CopyProps) {
  const { t } = useTranslation();
  const { copied, copy } = useCopy();
  return (
    <>
      <IconButton label={label ?? t('common.copy')} className={className} onClick={() => copy(text)}>
        {copied ? (
          <Check size={15} className="text-accent" aria-hidden />
        ) : (
          <CopyIcon size={15} aria-hidden />
        )}
      </IconButton>
      <Told copied={copied} />
    </>
  );
}

interface CopyButtonProps extends CopyProps {
  readonly kind?: ButtonKind;
  readonly small?: boolean;
  readonly onCopied?: () => void;
}

export function CopyButton({ text, label, kind = 'plain', small = true, onCopied }: CopyButtonProps) {
  const { t } = useTranslation();
  const { copied, copy } = useCopy();
  return (
    <>
      <Button
        kind={kind}
        small={small}
        icon={copied ? <Check size={15} aria-hidden /> : <CopyIcon size={15} aria-hidden />}
        onClick={() => {
          copy(text);
          onCopied?.();
        }}
      >
        {copied ? t('common.copied') : (label ?? t('common.copy'))}
      </Button>
      <Told copied={copied} />
    </>
  );
}

/** An id or a code in the text: click to copy. */
export function CopyText({ text, shown, className }: { text: string; shown?: string; className?: string }) {
  const { t } = useTranslation();
  const { copied, copy } = useCopy();
  return (
    <button
      type="button"
      title={t('common.copyThis', { text })}
      onClick={() => copy(text)}
      className={classes(
        'group inline-flex min-h-6 max-w-full min-w-0 items-center gap-1.5 rounded-sm text-left font-mono text-sm text-ink hover:text-accent',
        className,
      )}
    >
      <span className="truncate">{shown ?? text}</span>
      {copied ? (
        <Check size={13} className="shrink-0 text-accent" aria-hidden />
      ) : (
        <CopyIcon size={13} className="shrink-0 text-ink-3 opacity-60 group-hover:opacity-100" aria-hidden />
      )}
      <Told copied={copied} />
    </button>
  );
}

function Told({ copied }: { copied: boolean }) {
  const { t } = useTranslation();
  return (
    <span role="status" className="sr-only">
      {copied ? t('common.copied') : ''}
    </span>
  );
}
