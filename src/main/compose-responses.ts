import { openResponseRows } from '../activity/response-rows.ts';
import { ResponseStore } from '../activity/response-store.ts';
import { hoursWithoutSetting, type KeepRules } from '../activity/response-space.ts';
import type { CatalogSource } from '../catalog/catalog.ts';
import type { PeriodicTask } from './periodic-tasks.ts';
import type { LiveServerSettings, ServerSettings } from './server-settings.ts';
import type { Services } from './services.ts';

const HOUR_MS = 3_600_000;
const GIGABYTE = 1_073_741_824;

export async function openResponses(
  services: Services,
  catalog: Pick<CatalogSource, 'onChange'>,
  settings: Pick<LiveServerSettings, 'responses'>,
): Promise<ResponseStore> {
  const { config, store, ledger, clock, log, secret } = services;
  const usualHours = await hoursWithoutSetting(store.db);
  let rules = keepRules(settings.responses(), usualHours);
  catalog.onChange(() => {
    rules = keepRules(settings.responses(), usualHours);
  });
  const rows = openResponseRows(store, ledger, config.databaseDeadlineMs);
  return new ResponseStore({ store, rows, clock, log, key: secret.key('responses'), rules: () => rules });
}

function keepRules({ keepHours, keepGigabytes }: ServerSettings['responses'], usualHours: number): KeepRules {
  return { keepMs: (keepHours ?? usualHours) * HOUR_MS, keepBytes: keepGigabytes * GIGABYTE };
}

export function responseTasks(responses: ResponseStore): PeriodicTask[] {
  return [{ name: 'old stored responses', everyMs: 60_000, run: () => responses.sweep() }];
}
