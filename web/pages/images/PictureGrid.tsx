import type { ImageItem } from '../../../src/console/contract.ts';
import { classes } from '../../lib/classes.ts';
import { formatBytes } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';

interface PictureGridProps {
  readonly images: readonly ImageItem[];
  readonly onOpen: (index: number) => void;
  /** The ids of the chosen ones, while some are being chosen. */
  readonly selected: ReadonlySet<string> | undefined;
  readonly onSelect: (id: string) => void;
}

export function PictureGrid({ images, onOpen, selected, onSelect }: PictureGridProps) {
  return (
    <ul className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-4 xl:grid-cols-5">
      {images.map((image, index) => (
        <li key={image.id} className="relative min-w-0">
          <PictureButton
            image={image}
            isSelected={selected?.has(image.id)}
            onClick={() => (selected ? onSelect(image.id) : onOpen(index))}
          />
          <PictureFacts image={image} />
        </li>
      ))}
    </ul>
  );
}

/** Apart from the button, whose name is the prompt. */
function PictureFacts({ image }: { image: ImageItem }) {
  const { i18n } = useTranslation();
  const pixels = image.width === null ? [] : [`${image.width} × ${image.height}`];
  return (
    <p className="truncate px-1 pt-1 text-xs text-ink-3 tabular-nums">
      {[...pixels, formatBytes(image.bytes, i18n.language)].join(' · ')}
    </p>
  );
}

interface PictureButtonProps {
  readonly image: ImageItem;
  /** Absent: a click opens it. */
  readonly isSelected: boolean | undefined;
  readonly onClick: () => void;
}

function PictureButton({ image, isSelected, onClick }: PictureButtonProps) {
  const { t } = useTranslation();
  const label = isSelected === undefined ? 'images.open' : 'gallery.selectOne';
  return (
    <button
      type="button"
      onClick={onClick}
      aria-label={t(label, { prompt: image.prompt })}
      aria-pressed={isSelected}
      className={classes(
        'block w-full overflow-hidden rounded-lg border bg-surface text-left transition-colors',
        isSelected ? 'border-accent ring-2 ring-accent' : 'border-line hover:border-field',
      )}
    >
      <span className="block aspect-square overflow-hidden bg-sunken">
        <img src={image.thumbnail} alt="" loading="lazy" className="size-full object-cover" />
      </span>
      <span className="block truncate px-3 py-2 text-sm text-ink-2">{image.prompt}</span>
    </button>
  );
}
