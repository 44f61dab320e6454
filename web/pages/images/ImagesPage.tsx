import { useState } from 'react';
import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { useApi } from '../../lib/api.ts';
import { classes } from '../../lib/classes.ts';
import { useToday } from '../../lib/time.ts';
import { formatBytes } from '../../lib/numbers.ts';
import { usePages } from '../../lib/pages.ts';
import { useSearchState } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useWallet } from '../../lib/wallet.ts';
import { Button, LinkButton } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Empty, ErrorState, Skeleton } from '../../ui/States.tsx';
import { DeleteDialog } from './DeleteDialog.tsx';
import { imageFileName } from './fileName.ts';
import { DAYS, GalleryFilters } from './GalleryFilters.tsx';
import { ImageDetails } from './ImageDetails.tsx';
import { Lightbox } from './Lightbox.tsx';

type ImageItem = ItemOf<'GET /api/console/images'>;

const MAKE = '/app/playground?tab=images';
const DAY_MS = 86_400_000;

export default function ImagesPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const from = useFrom(state['days']);
  const { wallet } = useWallet();
  const filter = { q: state['q'], model: state['model'], size: state['size'], from };
  const query = { ...filter, wallet };
  const pages = usePages('GET /api/console/images', { query, limit: 30 });
  const facets = useApi('GET /api/console/image-facets', { query: { wallet } });
  const [index, setIndex] = useState<number>();
  const [selected, setSelected] = useState<ReadonlySet<string>>();
  const images = pages.data?.pages.flatMap(({ items }) => items) ?? [];
  const isNarrowed = Object.values(filter).some(Boolean);
  const isEmpty = pages.data !== undefined && images.length === 0;
  const toggle = (id: string): void => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  return (
    <Page
      wide
      title={t('images.title')}
      lead={t('images.lead')}
      actions={
        <LinkButton kind="primary" small href={MAKE}>
          {t('images.make')}
        </LinkButton>
      }
    >
      {isEmpty && !isNarrowed ? null : <GalleryFilters state={state} change={change} facets={facets.data} />}
      {pages.error && !pages.data ? (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
      ) : null}
      {pages.isPending ? <Bones /> : null}
      {isEmpty ? <NoImages isNarrowed={isNarrowed} /> : null}
      {images.length > 0 ? (
        <Bar
          images={images}
          total={facets.data?.total}
          room={pages.data?.pages[0]}
          selected={selected}
          onSelected={setSelected}
        />
      ) : null}
      <PictureGrid images={images} onOpen={setIndex} selected={selected} onSelect={toggle} />
      <Pager pages={pages} />
      {index === undefined ? null : (
        <Lightbox pictures={images.map(asPicture)} index={index} onIndex={setIndex}>
          {({ image }) => <ImageDetails image={image} onDeleted={() => setIndex(undefined)} />}
        </Lightbox>
      )}
    </Page>
  );
}

/** A start time that stays the same while the page is open, so that the list is fetched only once. */
function useFrom(days: string | undefined): string | undefined {
  const today = useToday();
  const [openedAt] = useState(() => Date.now());
  const known = DAYS.find((one) => one === days);
  if (known === undefined) return undefined;
  const until = known === '1' ? openedAt : Date.parse(today) + DAY_MS;
  return String(until - Number(known) * DAY_MS);
}

interface PictureGridProps {
  readonly images: readonly ImageItem[];
  readonly onOpen: (index: number) => void;
  /** The ids of the selected images; undefined while nothing is being selected. */
  readonly selected: ReadonlySet<string> | undefined;
  readonly onSelect: (id: string) => void;
}

function PictureGrid({ images, onOpen, selected, onSelect }: PictureGridProps) {
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

/** Outside the button, whose name is the prompt. */
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
  /** Undefined if a click opens the image instead. */
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

function asPicture(image: ImageItem) {
  const { id, src, thumbnail, prompt, mime } = image;
  return { key: id, src, thumbnail, prompt, fileName: imageFileName(prompt, id, mime), image };
}

function NoImages({ isNarrowed }: { isNarrowed: boolean }) {
  const { t } = useTranslation();
  return (
    <Card>
      {isNarrowed ? (
        <Empty title={t('gallery.nothing')}>{t('gallery.nothingLead')}</Empty>
      ) : (
        <Empty title={t('images.empty')} action={<LinkButton href={MAKE}>{t('images.make')}</LinkButton>}>
          {t('images.emptyLead')}
        </Empty>
      )}
    </Card>
  );
}

interface BarProps {
  readonly images: readonly ImageItem[];
  readonly total: number | undefined;
  readonly room: { readonly usedBytes: number; readonly quotaBytes: number } | undefined;
  readonly selected: ReadonlySet<string> | undefined;
  readonly onSelected: (selected: ReadonlySet<string> | undefined) => void;
}

/** How many images there are and what they occupy; while selecting, what can be done with the selected ones. */
function Bar({ images, total, room, selected, onSelected }: BarProps) {
  const { t, i18n } = useTranslation();
  const [isAsking, setAsking] = useState(false);
  if (!selected) {
    return (
      <div className="flex min-h-8 flex-wrap items-center gap-x-4 gap-y-2">
        <p className="min-w-0 flex-1 basis-64 text-sm text-ink-3">
          {total === undefined ? '' : `${t('gallery.total', { count: total })}. `}
          {room
            ? t('images.room', {
                used: formatBytes(room.usedBytes, i18n.language),
                quota: formatBytes(room.quotaBytes, i18n.language),
              })
            : ''}
        </p>
        <Button small onClick={() => onSelected(new Set())}>
          {t('gallery.select')}
        </Button>
      </div>
    );
  }
  return (
    <div className="flex min-h-8 flex-wrap items-center gap-2">
      <p role="status" className="flex-1 text-sm">
        {t('gallery.selected', { count: selected.size })}
      </p>
      <Button small onClick={() => onSelected(new Set(images.map(({ id }) => id)))}>
        {t('gallery.selectAll')}
      </Button>
      <Button small kind="danger" disabled={selected.size === 0} onClick={() => setAsking(true)}>
        {t('common.delete')}
      </Button>
      <Button small kind="ghost" onClick={() => onSelected(undefined)}>
        {t('gallery.done')}
      </Button>
      <DeleteDialog
        ids={[...selected]}
        open={isAsking}
        onClose={() => setAsking(false)}
        onDeleted={() => onSelected(undefined)}
      />
    </div>
  );
}

function Bones() {
  return (
    <div className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-4 xl:grid-cols-5">
      {Array.from({ length: 10 }, (_, index) => (
        <Skeleton key={index} className="aspect-square w-full rounded-lg" />
      ))}
    </div>
  );
}
