import { useEffect, useRef, useState, type DragEvent } from 'react';
import Brush from 'lucide-react/icons/brush';
import ImagePlus from 'lucide-react/icons/image-plus';
import X from 'lucide-react/icons/x';
import { classes } from '../../../lib/classes.ts';
import { formatBytes } from '../../../lib/numbers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button, IconButton } from '../../../ui/Button.tsx';
import { MaskDialog } from './MaskDialog.tsx';
import {
  MAX_REFERENCE_BYTES,
  readReference,
  REFERENCE_TYPES,
  totalBytes,
  type Reference,
  type ReferenceProblem,
} from './references.ts';

interface ReferencePicturesProps {
  readonly references: readonly Reference[];
  readonly mask: string | undefined;
  readonly most: number;
  readonly canMask: boolean;
  readonly onReferences: (references: readonly Reference[]) => void;
  readonly onMask: (mask: string | undefined) => void;
}

interface Problem {
  readonly name: string;
  readonly kind: ReferenceProblem | 'tooMany';
}

/** The pictures that an image starts from: chosen, dropped or pasted. */
export function ReferencePictures(props: ReferencePicturesProps) {
  const { references, mask, most, canMask, onReferences, onMask } = props;
  const { t, i18n } = useTranslation();
  const [problem, setProblem] = useState<Problem>();
  const [isPainting, setPainting] = useState(false);
  const add = async (files: readonly File[]): Promise<void> => {
    const { all, failed } = await added(references, files, { most, mask });
    setProblem(failed);
    if (all.length > references.length) onReferences(all);
  };
  usePastedFiles(add);
  const [first] = references;
  return (
    <div className="flex flex-col gap-2">
      <p className="text-sm font-medium text-ink-2">{t('studio.references')}</p>
      <References references={references} onReferences={onReferences} />
      {references.length < most ? <DropZone isFirst={references.length === 0} onFiles={add} /> : null}
      {problem ? (
        <p role="alert" className="text-sm text-bad">
          {t(`studio.problem.${problem.kind}`, {
            name: problem.name,
            limit: formatBytes(MAX_REFERENCE_BYTES, i18n.language),
            count: most,
          })}
        </p>
      ) : null}
      {first && canMask ? (
        <div className="flex flex-wrap items-center gap-2">
          <Button small icon={<Brush size={14} aria-hidden />} onClick={() => setPainting(true)}>
            {mask === undefined ? t('studio.paintMask') : t('studio.changeMask')}
          </Button>
          {mask === undefined ? null : (
            <Button small kind="ghost" onClick={() => onMask(undefined)}>
              {t('studio.removeMask')}
            </Button>
          )}
          <p className="text-sm text-ink-3">
            {mask === undefined ? t('studio.noMask') : t('studio.hasMask')}
          </p>
        </div>
      ) : null}
      {first && isPainting ? (
        <MaskDialog picture={first} mask={mask} onMask={onMask} onClose={() => setPainting(false)} />
      ) : null}
    </div>
  );
}

async function added(
  before: readonly Reference[],
  files: readonly File[],
  { most, mask }: { most: number; mask: string | undefined },
): Promise<{ all: readonly Reference[]; failed: Problem | undefined }> {
  const all = [...before];
  let failed: Problem | undefined;
  for (const file of files) {
    const read = all.length >= most ? ('tooMany' as const) : await readReference(file);
    if (typeof read === 'string') failed = { name: file.name, kind: read };
    else if (totalBytes([...all, read], mask) > MAX_REFERENCE_BYTES)
      failed = { name: file.name, kind: 'tooLarge' };
    else all.push(read);
  }
  return { all, failed };
}

function References({
  references,
  onReferences,
}: Pick<ReferencePicturesProps, 'references' | 'onReferences'>) {
  const { t } = useTranslation();
  if (references.length === 0) return null;
  return (
    <ul className="flex flex-wrap gap-3">
      {references.map((reference, index) => (
        <li key={reference.key} className="relative">
          <img
            src={reference.src}
            alt={t('studio.reference', { number: index + 1, name: reference.name })}
            className="size-20 rounded-md border border-line bg-sunken object-cover"
          />
          <span className="block text-center text-xs text-ink-3 tabular-nums">
            {reference.width} × {reference.height}
          </span>
          <IconButton
            label={t('attach.remove', { name: t('playground.picture', { number: index + 1 }) })}
            onClick={() => onReferences(references.filter(({ key }) => key !== reference.key))}
            className="absolute -top-2 -right-2 size-6 rounded-full border border-line bg-raised"
          >
            <X size={12} aria-hidden />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

function DropZone({ isFirst, onFiles }: { isFirst: boolean; onFiles: (files: File[]) => Promise<void> }) {
  const { t } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    void onFiles([...event.dataTransfer.files]);
  };
  return (
    <>
      <button
        type="button"
        onClick={() => input.current?.click()}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
        className={classes(
          'flex min-h-14 items-center gap-3 rounded-md border border-dashed px-3 py-2 text-left text-sm transition-colors hover:border-ink-3 hover:text-ink',
          isOver ? 'border-accent bg-accent-soft text-ink' : 'border-field text-ink-3',
        )}
      >
        <ImagePlus size={18} aria-hidden className="shrink-0" />
        {isFirst ? t('studio.drop') : t('studio.dropMore')}
      </button>
      <input
        ref={input}
        type="file"
        accept={REFERENCE_TYPES.join(',')}
        multiple
        hidden
        data-testid="references"
        onChange={(event) => {
          void onFiles([...(event.target.files ?? [])]);
          event.target.value = '';
        }}
      />
    </>
  );
}

/** Takes a picture from the clipboard, wherever on the page it is pasted. */
function usePastedFiles(onFiles: (files: File[]) => Promise<void>): void {
  const latest = useRef(onFiles);
  useEffect(() => {
    latest.current = onFiles;
  });
  useEffect(() => {
    const onPaste = (event: ClipboardEvent): void => {
      const files = [...(event.clipboardData?.files ?? [])].filter(({ type }) => type.startsWith('image/'));
      if (files.length === 0) return;
      event.preventDefault();
      void latest.current(files);
    };
    document.addEventListener('paste', onPaste);
    return () => document.removeEventListener('paste', onPaste);
  }, []);
}
