import type { ModelItem } from '../../../src/console/contract.ts';
import { useApi } from '../../lib/api.ts';
import { oneOf, useSearchState } from '../../lib/search.ts';
import { useTitle } from '../../lib/title.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/States.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import { ChatTab } from './ChatTab.tsx';
import { CompareTab } from './CompareTab.tsx';
import { ImagesTab } from './ImagesTab.tsx';

const TABS = ['chat', 'compare', 'images'] as const;

export default function PlaygroundPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  useTitle(t('playground.title'));
  const tab = oneOf(state['tab'], TABS);
  const catalog = useApi('GET /api/console/models', undefined, { staleTime: 60_000 });
  return (
    <div className="mx-auto w-full max-w-[90rem] px-4 pt-6 sm:px-8 sm:pt-8">
      <h1 className="text-xl font-semibold tracking-tight">{t('playground.title')}</h1>
      <p className="mt-0.5 mb-4 text-ink-3">{t('playground.lead')}</p>
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
