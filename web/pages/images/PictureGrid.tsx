import { useTranslation } from 'react-i18next';
import type { Picture } from './Lightbox.tsx';

export function PictureGrid({
  pictures,
  onOpen,
}: {
  pictures: readonly Picture[];
  onOpen: (index: number) => void;
}) {
  const { t } = useTranslation();
  return (
    <ul className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-4">
      {pictures.map((picture, index) => (
        <li key={picture.key}>
          <button
            type="button"
            onClick={() => onOpen(index)}
            aria-label={t('images.open', { prompt: picture.prompt })}
            className="group block w-full overflow-hidden rounded-lg border border-line bg-surface text-left transition-colors hover:border-field"
          >
            <span className="block aspect-square overflow-hidden bg-sunken">
              <img
                src={picture.thumbnail ?? picture.src}
                alt=""
                loading="lazy"
                className="size-full object-cover"
              />
            </span>
            <span className="block truncate px-3 py-2 text-sm text-ink-2">{picture.prompt}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
