import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { ModelItem } from '../../lib/answers.ts';
import { refreshReads } from '../../lib/query.ts';
import { oneOf, useSearchState } from '../../lib/search.ts';
import { useTitle } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useModels, useWallet } from '../../lib/wallet.ts';
import { Segments } from '../../ui/Segments.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/States.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import { ChatTab } from './ChatTab.tsx';
import { CompareTab } from './CompareTab.tsx';
import { ImageCompare } from './images/ImageCompare.tsx';
import { CHANGED_BY_IMAGES, onRunEnded } from './images/imageRuns.ts';
import { ImageStudio } from './images/ImageStudio.tsx';

const TABS = ['chat', 'compare', 'images'] as const;

export default function PlaygroundPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const { team } = useWallet();
  useTitle(t('playground.title'));
  const tab = oneOf(state['tab'], TABS);
  const catalog = useModels({ staleTime: 60_000 });
  return (
    <div className="mx-auto w-full max-w-[90rem] px-4 pt-6 sm:px-8 sm:pt-8">
      <h1 className="text-xl font-semibold tracking-tight">{t('playground.title')}</h1>
      <p className="mt-0.5 mb-4 text-ink-3">
        {team ? t('playground.leadTeam', { team: team.name }) : t('playground.lead')}
      </p>
      <Tabs
        label={t('playground.title')}
        value={tab}
        onChange={(next) => change({ tab: next, model: undefined, max_tokens: undefined })}
        tabs={TABS.map((value) => ({ value, label: t(`playground.${value}`) }))}
      >
        <Loaded query={catalog} skeleton={<Skeleton className="h-96 w-full" />}>
          {({ models }) => (
            <Tab tab={tab} models={models} wanted={state['model']} maxTokens={state['max_tokens']} />
          )}
        </Loaded>
      </Tabs>
    </div>
  );
}

function Tab({
  tab,
  models,
  wanted,
  maxTokens,
}: {
  tab: (typeof TABS)[number];
  models: readonly ModelItem[];
  wanted: string | undefined;
  maxTokens: string | undefined;
}) {
  const { t } = useTranslation();
  const type = tab === 'images' ? 'image_generation' : 'chat_completion';
  const fitting = models.filter((model) => model.type === type);
  if (!fitting.some((model) => !model.unavailable)) {
    return <Empty title={t('playground.noModels')}>{t('playground.noModelsLead')}</Empty>;
  }
  if (tab === 'chat') return <ChatTab models={fitting} wanted={wanted} maxTokens={maxTokens} />;
  if (tab === 'compare') return <CompareTab models={fitting} />;
  return <ImagesTab models={fitting} wanted={wanted} />;
}

const IMAGE_VIEWS = ['one', 'compare'] as const;

function ImagesTab({ models, wanted }: { models: readonly ModelItem[]; wanted: string | undefined }) {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const client = useQueryClient();
  useEffect(() => onRunEnded(() => void refreshReads(client, CHANGED_BY_IMAGES)), [client]);
  const view = oneOf(state['view'], IMAGE_VIEWS);
  return (
    <div className="flex flex-col gap-4">
      <div>
        <Segments
          label={t('studio.view')}
          value={view}
          onChange={(next) => change({ view: next === 'one' ? undefined : next })}
          options={IMAGE_VIEWS.map((value) => ({ value, label: t(`studio.${value}`) }))}
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
