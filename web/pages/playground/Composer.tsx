import { useState, type KeyboardEvent, type ReactNode } from 'react';
import ArrowUp from 'lucide-react/icons/arrow-up';
import Square from 'lucide-react/icons/square';
import type { ModelItem } from '../../lib/answers.ts';
import { classes } from '../../lib/classes.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { AttachButton, AttachHint, AttachmentList, useAttach } from './Attachments.tsx';
import { attachedOf, NOTHING_ATTACHED, usePending, type Attached } from './attachments.ts';

interface ComposerProps {
  readonly busy: boolean;
  readonly onSend: (text: string, attached: Attached) => void;
  readonly onStop: () => void;
  /** The model that gets the attachments; undefined if nothing can be attached. */
  readonly takes: Pick<ModelItem, 'displayName' | 'vision' | 'files'> | undefined;
  /** Why nothing can be sent now. */
  readonly blocked?: string | undefined;
  /** Shown beside the button, made from what is written. */
  readonly note?: (text: string, attached: Attached) => ReactNode;
}

/** Where a question is written. Enter sends, Shift+Enter is a new line. */
export function Composer({ busy, onSend, onStop, takes, blocked, note }: ComposerProps) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const pending = usePending();
  const attaching = useAttach();
  const attachments = takes ? pending.attachments : [];
  const attached = takes ? attachedOf(attachments) : NOTHING_ATTACHED;
  const refused = useRefused(attached, takes);
  const isEmpty = text.trim() === '' && attachments.length === 0;
  const cannotSend = isEmpty || blocked !== undefined || refused !== undefined;
  const send = (): void => {
    if (busy || cannotSend) return;
    onSend(text, attached);
    setText('');
    if (takes) pending.clear();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      send();
    }
  };
  return (
    <div className="bottom-0 z-10 bg-page pb-4 [@media(min-height:34rem)]:sticky">
      <div
        {...(takes && attaching.drop)}
        className={classes(
          'rounded-lg border bg-surface transition-colors focus-within:border-accent',
          attaching.isOver ? 'border-accent bg-accent-soft' : 'border-field',
        )}
      >
        <AttachmentList attachments={attachments} onRemove={pending.remove} />
        <textarea
          aria-label={t('playground.message')}
          placeholder={t('playground.messagePlaceholder')}
          rows={Math.min(10, Math.max(2, text.split('\n').length))}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={takes && attaching.onPaste}
          className="thin-scroll block w-full resize-none bg-transparent px-4 pt-3 text-lg outline-none sm:text-base"
        />
        <div className="flex items-center gap-2 px-2.5 pb-2.5">
          {takes ? <AttachButton onFiles={attaching.add} /> : null}
          <span className="min-w-0 flex-1 text-right">
            {busy ? null : (
              <Note why={refused ?? blocked}>
                {isEmpty ? takes && <AttachHint {...takes} /> : note?.(text, attached)}
              </Note>
            )}
          </span>
          <SendButton busy={busy} disabled={cannotSend} onSend={send} onStop={onStop} />
        </div>
      </div>
    </div>
  );
}

function useRefused({ images, files }: Attached, takes: ComposerProps['takes']): string | undefined {
  const { t } = useTranslation();
  if (!takes) return undefined;
  const model = takes.displayName;
  if (images.length > 0 && !takes.vision) return t('attach.noImages', { model });
  return files.some(({ kind }) => kind === 'pdf') && !takes.files ? t('attach.noPdf', { model }) : undefined;
}

function Note({ why, children }: { why: string | undefined; children: ReactNode }) {
  if (why === undefined) return children;
  return (
    <span role="status" className="text-sm text-warn">
      {why}
    </span>
  );
}

interface SendButtonProps extends Pick<ComposerProps, 'busy' | 'onStop'> {
  readonly disabled: boolean;
  readonly onSend: () => void;
}

function SendButton({ busy, disabled, onSend, onStop }: SendButtonProps) {
  const { t } = useTranslation();
  return busy ? (
    <Button small icon={<Square size={12} aria-hidden fill="currentColor" />} onClick={onStop}>
      {t('playground.stopGo')}
    </Button>
  ) : (
    <Button
      small
      kind="primary"
      icon={<ArrowUp size={15} aria-hidden />}
      onClick={onSend}
      disabled={disabled}
    >
      {t('playground.send')}
    </Button>
  );
}
