import { ModelPicker } from '../playground/ModelPicker.tsx';
import CircleCheck from 'lucide-react/icons/circle-check';
import { useState } from 'react';
import type { Quickstart } from '../../lib/answers.ts';
import { useApi } from '../../lib/api.ts';
import { useFreshToken, useCreateToken } from '../../lib/freshToken.ts';
import { publicOrigin } from '../../lib/browser.ts';
import { oneOf, useSearchState } from '../../lib/search.ts';
import { useNow } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useModels } from '../../lib/wallet.ts';
import { Button } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { Code } from '../../ui/Code.tsx';
import { Link } from '../../ui/Link.tsx';
import { Mark } from '../../ui/Logo.tsx';
import { FormError, Loaded, Skeleton } from '../../ui/States.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import { Time } from '../../ui/Time.tsx';
import { ShownToken } from '../key/ShownToken.tsx';
import { CLIENTS, snippets, type Client } from './snippets.ts';

const WAIT_MS = 2000;
const CLIENT_IDS = Object.keys(CLIENTS) as [Client, ...Client[]];

export default function QuickstartPage() {
  const { t } = useTranslation();
  const quickstart = useApi('GET /api/console/quickstart');
  const waiting = quickstart.data !== undefined && quickstart.data.firstRequest === null;
  useApi('GET /api/console/quickstart', undefined, {
    enabled: waiting,
    refetchInterval: waiting ? WAIT_MS : false,
  });
  return (
    <Page title={t('quickstart.title')} lead={t('quickstart.lead')}>
      <Loaded query={quickstart} skeleton={<Skeleton className="h-96 w-full rounded-lg" />}>
        {(data) => (
          <>
            <Arrival first={data.firstRequest} />
            <TokenNote hasToken={data.hasToken} />
            <Examples data={data} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Who has used the API for days needs no word about the first request. */
const SHOWN_MS = 86_400_000;

/** Waits for the first request, and turns green when it has arrived. */
function Arrival({ first }: { first: Quickstart['firstRequest'] }) {
  const { t } = useTranslation();
  const now = useNow();
  if (!first) {
    return (
      <div
        role="status"
        className="flex items-center gap-4 rounded-lg border border-dashed border-field px-5 py-4"
      >
        <Mark size={26} className="animate-breathe text-ink-3" />
        <div>
          <p className="font-medium">{t('quickstart.waiting')}</p>
          <p className="text-ink-3">{t('quickstart.waitingLead')}</p>
        </div>
      </div>
    );
  }
  if (now - first.at > SHOWN_MS) return null;
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-4 gap-y-2 rounded-lg border border-accent bg-accent-soft px-5 py-4"
    >
      <CircleCheck size={24} aria-hidden className="text-accent" />
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium text-accent">{t('quickstart.arrived')}</p>
        <p className="text-ink-2">
          {t('quickstart.arrivedLead', { model: first.model, endpoint: first.endpoint })} ·{' '}
          <Time at={first.at} style="relative" />
        </p>
      </div>
      <Link
        href={`/app/requests?id=${first.id}`}
        className="font-medium text-accent underline underline-offset-2"
      >
        {t('quickstart.receipt')}
      </Link>
    </div>
  );
}

/** Says whether the examples contain the token, and offers to create one. */
function TokenNote({ hasToken }: { hasToken: boolean }) {
  const { t } = useTranslation();
  const fresh = useFreshToken();
  const [shown, setShown] = useState<string>();
  const create = useCreateToken(setShown);
  return (
    <div className="flex flex-wrap items-center gap-3">
      <p className="flex-1 basis-72 text-ink-2">
        {fresh
          ? t('quickstart.tokenShown')
          : hasToken
            ? t('quickstart.tokenHidden')
            : t('quickstart.needToken')}
      </p>
      {hasToken || fresh ? null : (
        <Button kind="primary" busy={create.isPending} onClick={() => create.mutate()}>
          {t('key.create')}
        </Button>
      )}
      <FormError error={create.error} />
      {shown ? <ShownToken token={shown} onClose={() => setShown(undefined)} /> : null}
    </div>
  );
}

function Examples({ data }: { data: Quickstart }) {
  const { t } = useTranslation();
  const [search, change] = useSearchState();
  const fresh = useFreshToken();
  const catalog = useModels({ staleTime: 60_000 }).data;
  const usable = (catalog?.models ?? []).filter(
    (model) => model.type === 'chat_completion' && !model.unavailable,
  );
  const fallback = data.chat ?? { endpoint: 'svc_chat', model: 'house-guide' };
  const [endpoint = fallback.endpoint, model = fallback.model] = search['model']?.split(' ') ?? [];
  const client = oneOf(search['client'], CLIENT_IDS);
  const { blocks, note } = snippets(client, {
    origin: publicOrigin(),
    token: fresh,
    endpoint,
    model,
    image: data.image,
  });
  return (
    <Card>
      <div className="mb-4 flex flex-wrap items-end gap-4">
        <div className="w-full sm:w-auto">
          <ModelPicker
            isRow
            models={usable}
            value={`${endpoint} ${model}`}
            onChange={(choice) => change({ model: choice })}
          />
        </div>
        {data.chat ? null : <p className="text-sm text-warn">{t('quickstart.noChat')}</p>}
      </div>
      <Tabs
        label={t('quickstart.clients')}
        value={client}
        onChange={(next) => change({ client: next })}
        tabs={CLIENT_IDS.map((id) => ({ value: id, label: CLIENTS[id] }))}
      >
        <div className="flex flex-col gap-4">
          {fresh ? null : (
            <Code
              label={t('quickstart.exportToken')}
              caption={t('quickstart.exportToken')}
              code="export TOLLGATE_TOKEN=sk-…"
            />
          )}
          {blocks.map((block) => (
            <Code
              key={block.caption}
              label={`${CLIENTS[client]}: ${block.caption}`}
              caption={block.caption}
              code={block.code}
            />
          ))}
          {note ? <p className="text-sm text-ink-3">{t(`quickstart.notes.${note}`)}</p> : null}
        </div>
      </Tabs>
    </Card>
  );
}
