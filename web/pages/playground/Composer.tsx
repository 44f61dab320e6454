import { useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import ArrowUp from 'lucide-react/icons/arrow-up';
import ImagePlus from 'lucide-react/icons/image-plus';
import Square from 'lucide-react/icons/square';
import X from 'lucide-react/icons/x';
import { formatBytes } from '../../lib/numbers.ts';
import { Button, IconButton } from '../../ui/Button.tsx';
import { toast } from '../../ui/Toast.tsx';
import { MAX_PICTURE_BYTES, readPicture, usePending } from './pictures.ts';

interface ComposerProps {
  readonly busy: boolean;
  readonly onSend: (text: string, images: readonly string[]) => void;
  readonly onStop: () => void;
  readonly vision?: boolean;
  readonly modelName?: string;
  readonly withPictures?: boolean;
  /** Why nothing can be sent now. */
  readonly blocked?: string | undefined;
  /** Shown beside the button, for what is written. */
  readonly note?: (text: string, images: readonly string[]) => ReactNode;
}

/** Where a question is written. Enter sends, Shift+Enter is a new line. */
export function Composer({
  busy,
  onSend,
  onStop,
  vision = true,
  modelName = '',
  withPictures = true,
  blocked,
  note,
}: ComposerProps) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const pending = usePending();
  const pictures = withPictures ? pending.pictures : [];
  const send = (): void => {
    if (busy || blocked !== undefined || (text.trim() === '' && pictures.length === 0)) return;
    onSend(text, pictures);
    setText('');
    if (withPictures) pending.clear();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      send();
    }
  };
  return (
    <div className="sticky bottom-0 z-10 bg-page pb-4">
      <div className="rounded-lg border border-field bg-surface transition-colors focus-within:border-accent">
        <Previews pictures={pictures} onRemove={pending.remove} />
        {pictures.length > 0 && !vision ? (
          <p className="px-4 pt-2 text-sm text-warn">{t('playground.noVision', { model: modelName })}</p>
        ) : null}
        <textarea
          aria-label={t('playground.message')}
          placeholder={t('playground.messagePlaceholder')}
          rows={Math.min(10, Math.max(2, text.split('\n').length))}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          className="thin-scroll block w-full resize-none bg-transparent px-4 pt-3 text-lg outline-none sm:text-base"
        />
        <div className="flex items-center gap-2 px-2.5 pb-2.5">
          {withPictures ? <AttachButton onPicture={pending.add} /> : null}
          <span className="min-w-0 flex-1 text-right">
            {busy ? null : blocked === undefined ? note?.(text, pictures) : <Blocked why={blocked} />}
          </span>
          {busy ? (
            <Button small icon={<Square size={12} aria-hidden fill="currentColor" />} onClick={onStop}>
              {t('playground.stopGo')}
            </Button>
          ) : (
            <Button
              small
              kind="primary"
              icon={<ArrowUp size={15} aria-hidden />}
              onClick={send}
              disabled={blocked !== undefined || (text.trim() === '' && pictures.length === 0)}
            >
              {t('playground.send')}
            </Button>
          )}
        </div>
      </div>
    </div>
  );
}

function Blocked({ why }: { why: string }) {
  return (
    <span role="status" className="text-sm text-warn">
      {why}
    </span>
  );
}

function Previews({
  pictures,
  onRemove,
}: {
  pictures: readonly string[];
  onRemove: (index: number) => void;
}) {
  const { t } = useTranslation();
  if (pictures.length === 0) return null;
  return (
    <ul className="flex flex-wrap gap-2 px-4 pt-3">
      {pictures.map((picture, index) => (
        <li key={picture.slice(-48)} className="relative">
          <img
            src={picture}
            alt={t('playground.picture', { number: index + 1 })}
            className="size-16 rounded-md border border-line object-cover"
          />
          <IconButton
            label={t('playground.removePicture', { number: index + 1 })}
            onClick={() => onRemove(index)}
            className="absolute -top-2 -right-2 size-6 rounded-full border border-line bg-raised"
          >
            <X size={12} aria-hidden />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

function AttachButton({ onPicture }: { onPicture: (picture: string) => void }) {
  const { t, i18n } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  const onFiles = async (files: FileList | null): Promise<void> => {
    for (const file of files ?? []) {
      const picture = await readPicture(file);
      if (picture) onPicture(picture);
      else
        toast(
          t('playground.pictureTooLarge', { limit: formatBytes(MAX_PICTURE_BYTES, i18n.language) }),
          'bad',
        );
    }
    if (input.current) input.current.value = '';
  };
  return (
    <>
      <IconButton label={t('playground.attach')} onClick={() => input.current?.click()}>
        <ImagePlus size={17} aria-hidden />
      </IconButton>
      <input
        ref={input}
        type="file"
        accept="image/png,image/jpeg,image/webp,image/gif"
        multiple
        hidden
        onChange={(event) => void onFiles(event.target.files)}
      />
    </>
  );
}
