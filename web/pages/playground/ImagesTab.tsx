import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { ModelItem } from '../../../src/console/contract.ts';
import { refreshReads } from '../../lib/query.ts';
import { oneOf, useSearchState } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { ImageCompare } from './images/ImageCompare.tsx';
import { CHANGED_BY_IMAGES, onRunEnded } from './images/imageRuns.ts';
import { ImageStudio } from './images/ImageStudio.tsx';

const VIEWS = ['one', 'compare'] as const;

export function ImagesTab({ models, wanted }: { models: readonly ModelItem[]; wanted: string | undefined }) {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const client = useQueryClient();
  useEffect(() => onRunEnded(() => void refreshReads(client, CHANGED_BY_IMAGES)), [client]);
  const view = oneOf(state['view'], VIEWS);
  return (
    <div className="flex flex-col gap-4">
      <div>
        <Segments
          label={t('studio.view')}
          value={view}
          onChange={(next) => change({ view: next === 'one' ? undefined : next })}
          options={VIEWS.map((value) => ({ value, label: t(`studio.${value}`) }))}
        />
      </div>
      {view === 'compare' ? (
        <ImageCompare models={models} />
      ) : (
        <ImageStudio models={models} wanted={wanted} />
      )}
    </div>
  );
}
