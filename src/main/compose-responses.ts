import { BackgroundRows } from '../activity/background-rows.ts';
import { ConversationStore } from '../activity/conversation-store.ts';
import { openResponseRows, ResponseStore } from '../activity/response-store.ts';
import { hoursWithoutSetting, type KeepRules } from '../activity/response-space.ts';
import { BackgroundResponses } from '../api/background-responses.ts';
import { saidTags } from '../api/inference.ts';
import { readResponses } from '../api/responses.ts';
import type { AccountSnapshot, Caller } from '../ledger/port.ts';
import { invalidToken } from '../relay/admission.ts';
import type { RelayParts } from '../relay/call.ts';
import type { CatalogSource } from '../catalog/catalog.ts';
import type { PeriodicTask } from './periodic-tasks.ts';
import type { LiveServerSettings, ServerSettings } from './server-settings.ts';
import type { Services } from './services.ts';

const HOUR_MS = 3_600_000;
const GIGABYTE = 1_073_741_824;

/** The stores of the Responses API. */
export interface StoredState {
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
  readonly backgroundRows: BackgroundRows;
  readonly background: BackgroundResponses;
}

interface ResponseSources {
  readonly catalog: Pick<CatalogSource, 'onChange'>;
  readonly settings: Pick<LiveServerSettings, 'responses'>;
  readonly relay: RelayParts;
}

export async function openResponses(
  services: Services,
  { catalog, settings, relay }: ResponseSources,
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
  const { space } = responses;
  const conversations = new ConversationStore({ ...shared, space });
  const backgroundRows = new BackgroundRows({ ...shared, space });
  const rowsOf = { responses, conversations, backgroundRows };
  const background = new BackgroundResponses({
    parts: { ...rowsOf, relay, callerAuth: { account: (caller) => accountOf(caller, relay) } },
    read: ({ body, ...base }) => readResponses({ ...base, tags: saidTags(body) }, { ...body }, { relay }),
    max: config.maxImageJobs,
  });
  return { ...rowsOf, background };
}

async function accountOf(caller: Caller, { ledger }: RelayParts): Promise<AccountSnapshot> {
  const account = await ledger.identify(caller);
  if (!account) throw invalidToken();
  return account;
}

function keepRules({ keepHours, keepGigabytes }: ServerSettings['responses'], usualHours: number): KeepRules {
  return { keepMs: (keepHours ?? usualHours) * HOUR_MS, keepBytes: keepGigabytes * GIGABYTE };
}

export function responseTasks({ responses, background }: StoredState): PeriodicTask[] {
  return [
    { name: 'old stored responses', everyMs: 60_000, run: () => responses.sweep() },
    { name: 'responses in the background', everyMs: 2_000, run: () => background.takeOver() },
  ];
}
