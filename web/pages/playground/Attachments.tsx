import { useRef, useState, type ClipboardEvent, type DragEvent } from 'react';
import FileText from 'lucide-react/icons/file-text';
import Paperclip from 'lucide-react/icons/paperclip';
import X from 'lucide-react/icons/x';
import { classes } from '../../lib/classes.ts';
import { formatBytes } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { IconButton } from '../../ui/Button.tsx';
import { toast } from '../../ui/Toast.tsx';
import {
  attach,
  MAX_ATTACHMENTS,
  MAX_BINARY_BYTES,
  MAX_TEXT_BYTES,
  MAX_TOTAL_BYTES,
  type PendingAttachment,
} from './attachments.ts';

/** Attaches files by button, drag and paste. Those that cannot be attached are named. */
export function useAttach() {
  const limits = useLimits();
  const { t } = useTranslation();
  const [isOver, setOver] = useState(false);
  const add = async (files: Iterable<File>): Promise<void> => {
    for (const file of files) {
      const problem = await attach(file);
      if (problem) toast(t(`attach.problem.${problem}`, { name: file.name, ...limits }), 'bad');
    }
  };
  const onPaste = (event: ClipboardEvent): void => {
    // Copied cells of a spreadsheet are also a picture: whatever has text is pasted as text.
    if (event.clipboardData.files.length === 0 || event.clipboardData.getData('text/plain') !== '') return;
    event.preventDefault();
    void add([...event.clipboardData.files]);
  };
  const drop = {
    onDragOver: (event: DragEvent): void => {
      if (!event.dataTransfer.types.includes('Files')) return;
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: (): void => setOver(false),
    onDrop: (event: DragEvent): void => {
      setOver(false);
      if (event.dataTransfer.files.length === 0) return;
      event.preventDefault();
      void add([...event.dataTransfer.files]);
    },
  };
  return { add, onPaste, drop, isOver };
}

function useLimits() {
  const { i18n } = useTranslation();
  // The unit stays with its number.
  const size = (bytes: number): string => formatBytes(bytes, i18n.language).replaceAll(' ', '\u00a0');
  return {
    text: size(MAX_TEXT_BYTES),
    binary: size(MAX_BINARY_BYTES),
    total: size(MAX_TOTAL_BYTES),
    most: MAX_ATTACHMENTS,
  };
}

/** What can be attached, shown before anything is. */
export function AttachHint({ vision, files }: { vision: boolean; files: boolean }) {
  const { t } = useTranslation();
  const limits = useLimits();
  const kind = vision && files ? 'all' : vision ? 'images' : files ? 'pdf' : 'text';
  return <span className="block text-xs text-balance text-ink-3">{t(`attach.hint.${kind}`, limits)}</span>;
}

export function AttachButton({ onFiles }: { onFiles: (files: Iterable<File>) => Promise<void> }) {
  const { t } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton label={t('attach.button')} onClick={() => input.current?.click()}>
        <Paperclip size={17} aria-hidden />
      </IconButton>
      <input
        ref={input}
        type="file"
        aria-label={t('attach.button')}
        multiple
        hidden
        onChange={(event) => {
          void onFiles([...(event.target.files ?? [])]);
          event.target.value = '';
        }}
      />
    </>
  );
}

interface AttachmentListProps {
  readonly attachments: readonly PendingAttachment[];
  readonly onRemove: (id: number) => void;
}

export function AttachmentList({ attachments, onRemove }: AttachmentListProps) {
  const { t, i18n } = useTranslation();
  if (attachments.length === 0) return null;
  return (
    <ul aria-label={t('attach.list')} className="flex flex-wrap gap-3 px-4 pt-3">
      {attachments.map((one, index) => {
        const name = one.kind === 'image' ? t('playground.picture', { number: index + 1 }) : one.name;
        return (
          <li key={one.id} className="relative min-w-0">
            {one.kind === 'image' ? (
              <img src={one.url} alt={name} className="size-16 rounded-md border border-line object-cover" />
            ) : (
              <FileChip className="pr-8" name={name} note={formatBytes(one.bytes, i18n.language)} />
            )}
            <IconButton
              label={t('attach.remove', { name })}
              onClick={() => onRemove(one.id)}
              className="absolute -top-2 -right-2 size-6 rounded-full border border-line bg-raised"
            >
              <X size={12} aria-hidden />
            </IconButton>
          </li>
        );
      })}
    </ul>
  );
}

interface FileChipProps {
  readonly name: string;
  readonly note?: string;
  readonly className?: string;
}

export function FileChip({ name, note, className }: FileChipProps) {
  return (
    <span
      className={classes(
        'flex max-w-64 items-center gap-2 rounded-md border border-line bg-surface px-3 py-2 text-sm',
        className,
      )}
    >
      <FileText size={15} aria-hidden className="shrink-0 text-ink-3" />
      <span className="min-w-0 truncate" title={name}>
        {name}
      </span>
      {note ? <span className="shrink-0 text-xs text-ink-3">{note}</span> : null}
    </span>
  );
}
