import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { builtinCatalog } from '../catalog/builtin.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { openCatalog } from '../catalog/source.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { openAnyCatalog } from './open-catalog.ts';
import type { Config } from './config.ts';
import type { FileValues } from './configuration.ts';
import { SERVER_SETTINGS } from './server-settings.ts';
import { closeServices, openServices } from './services.ts';

/** What the file says, or the catalog in the store; a store that does not exist yet is not made for this. */
export async function readFileValues(
  config: Config,
  log: Log,
  clock: Clock,
): Promise<FileValues | undefined> {
  const { catalogPath, databaseUrl, dataDir, env } = config;
  if (catalogPath !== undefined) {
    const shared = { builtin: builtinCatalog, settings: SERVER_SETTINGS, env, log, clock };
    const source = openCatalog({ path: catalogPath, ...shared });
    source.close();
    return valuesOf(source.current(), catalogPath);
  }
  if (databaseUrl === undefined && !existsSync(join(dataDir, 'tollgate.db'))) return undefined;
  const services = await openServices(config, log, clock);
  try {
    const catalog = await openAnyCatalog(services);
    catalog.close();
    return valuesOf(catalog.current(), 'the catalog in the store');
  } finally {
    await closeServices(services);
  }
}

function valuesOf({ settings }: Catalog, from: string): FileValues {
  return { from, values: new Map([...(settings ?? [])].map(([key, { value }]) => [key, value])) };
}
