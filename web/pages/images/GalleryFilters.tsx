import { useEffect, useState } from 'react';
import Search from 'lucide-react/icons/search';
import type { Answer } from '../../../src/console/contract/routes.ts';
import type { SearchState } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Picker } from '../../ui/Combobox.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';

type ImageFacets = Answer<'GET /api/console/image-facets'>;

export const DAYS = ['1', '7', '14'] as const;
/** Long enough not to search at every letter. */
const PAUSE_MS = 300;

interface GalleryFiltersProps {
  readonly state: SearchState;
  readonly change: (next: Record<string, string | undefined>) => void;
  readonly facets: ImageFacets | undefined;
}

/** The filters of the gallery, all of which are in the address. */
export function GalleryFilters({ state, change, facets }: GalleryFiltersProps) {
  const { t } = useTranslation();
  const isNarrowed = ['q', 'model', 'size', 'days'].some((name) => state[name]);
  const counted = (name: string, count: number): string => t('gallery.counted', { name, count });
  const models = (facets?.models ?? []).map(({ model, images }) => ({
    value: model,
    label: counted(model, images),
  }));
  return (
    <div className="grid grid-cols-2 gap-3 sm:grid-cols-[minmax(12rem,1fr)_repeat(3,minmax(8rem,12rem))_auto] sm:items-end">
      <SearchField
        key={state['q'] === undefined ? 'empty' : 'filled'}
        text={state['q'] ?? ''}
        change={change}
      />
      <Picker
        label={t('gallery.model')}
        hideLabel
        value={state['model'] ?? ''}
        onChange={(model) => change({ model: model || undefined })}
        options={[
          { value: '', label: t('tables.allOf', { label: t('gallery.model') }) },
          ...withChosen(models, state['model']),
        ]}
      />
      <Picker
        label={t('gallery.size')}
        hideLabel
        value={state['size'] ?? ''}
        onChange={(size) => change({ size: size || undefined })}
        options={[
          { value: '', label: t('tables.allOf', { label: t('gallery.size') }) },
          ...withChosen(
            (facets?.sizes ?? []).map(({ size, images }) => ({
              value: size,
              label: counted(size.replace('x', ' × '), images),
            })),
            state['size'],
          ),
        ]}
      />
      <SelectField
        label={t('gallery.date')}
        hideLabel
        value={DAYS.find((days) => days === state['days']) ?? ''}
        onChange={(event) => change({ days: event.target.value || undefined })}
      >
        <option value="">{t('gallery.allDates')}</option>
        {DAYS.map((days) => (
          <option key={days} value={days}>
            {days === '1' ? t('gallery.lastDay') : t('gallery.lastDays', { days: Number(days) })}
          </option>
        ))}
      </SelectField>
      {isNarrowed ? (
        <Button
          kind="ghost"
          onClick={() => change({ q: undefined, model: undefined, size: undefined, days: undefined })}
        >
          {t('gallery.clear')}
        </Button>
      ) : null}
    </div>
  );
}

interface Choice {
  readonly value: string;
  readonly label: string;
}

/** The address may name a value that no image has any more. */
function withChosen(choices: readonly Choice[], chosen: string | undefined): readonly Choice[] {
  if (!chosen || choices.some(({ value }) => value === chosen)) return choices;
  return [...choices, { value: chosen, label: chosen }];
}

function SearchField({ text, change }: { text: string; change: GalleryFiltersProps['change'] }) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState(text);
  useEffect(() => {
    if (typed === text) return undefined;
    const timer = setTimeout(() => change({ q: typed || undefined }), PAUSE_MS);
    return () => clearTimeout(timer);
    // Only typing searches; the address may change for other reasons.
  }, [typed]); // oxlint-disable-line react/exhaustive-deps
  return (
    <span className="relative max-sm:col-span-2">
      <TextField
        label={t('gallery.search')}
        hideLabel
        placeholder={t('gallery.search')}
        type="search"
        maxLength={200}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        className="pr-9"
      />
      <Search size={15} aria-hidden className="pointer-events-none absolute right-3 bottom-2.5 text-ink-3" />
    </span>
  );
}
