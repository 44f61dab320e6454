import { ConversationStore } from '../activity/conversation-store.ts';
import { openResponseRows } from '../activity/response-rows.ts';
import { ResponseStore } from '../activity/response-store.ts';
import { hoursWithoutSetting, type KeepRules } from '../activity/response-space.ts';
import type { CatalogSource } from '../catalog/catalog.ts';
import type { PeriodicTask } from './periodic-tasks.ts';
import type { LiveServerSettings, ServerSettings } from './server-settings.ts';
import type { Services } from './services.ts';

const HOUR_MS = 3_600_000;
const GIGABYTE = 1_073_741_824;

/** What the Responses API keeps. */
export interface StoredState {
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
}

export async function openResponses(
  services: Services,
  catalog: Pick<CatalogSource, 'onChange'>,
  settings: Pick<LiveServerSettings, 'responses'>,
): Promise<StoredState> {
  const { config, store, ledger, clock, secret } = services;
  const usualHours = await hoursWithoutSetting(store.db);
  let rules = keepRules(settings.responses(), usualHours);
  catalog.onChange(() => {
    rules = keepRules(settings.responses(), usualHours);
  });
  const rows = openResponseRows(store, ledger, config.databaseDeadlineMs);
  const shared = { store, clock, key: secret.key('responses'), rules: () => rules };
  const responses = new ResponseStore({ ...shared, rows });
  return { responses, conversations: new ConversationStore({ ...shared, space: responses.space }) };
}

function keepRules({ keepHours, keepGigabytes }: ServerSettings['responses'], usualHours: number): KeepRules {
  return { keepMs: (keepHours ?? usualHours) * HOUR_MS, keepBytes: keepGigabytes * GIGABYTE };
}

export function responseTasks({ responses }: StoredState): PeriodicTask[] {
  return [{ name: 'old stored responses', everyMs: 60_000, run: () => responses.sweep() }];
}
