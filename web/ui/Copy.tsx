import Check from 'lucide-react/icons/check';
import CopyIcon from 'lucide-react/icons/copy';
import { classes } from '../lib/classes.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Button, IconButton, type ButtonKind } from './Button.tsx';
import { useEffect, useRef, useState } from 'react';

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
      <IconButton reads label={label ?? t('common.copy')} className={className} onClick={() => copy(text)}>
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
        reads
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

const SHOWN_MS = 1600;

/** Copies a text; `copied` is true for a moment afterwards. */
export function useCopy(): { copied: boolean; copy: (text: string) => void } {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const tell = async (written: Promise<boolean>): Promise<void> => {
    setCopied(await written);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied(false), SHOWN_MS);
  };
  const copy = (text: string): void => {
    void tell(write(text));
  };
  return { copied, copy };
}

async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return legacyWrite(text);
  }
}

/** The clipboard API needs a secure origin; the old command also works on plain HTTP, as in a home network. */
function legacyWrite(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.setAttribute('readonly', '');
  area.className = 'fixed -left-full';
  const host = document.querySelector('dialog[open]') ?? document.body;
  host.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
