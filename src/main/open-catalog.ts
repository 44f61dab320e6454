import { builtinCatalog } from '../catalog/builtin.ts';
import type { CatalogSource } from '../catalog/catalog.ts';
import { openCatalog } from '../catalog/source.ts';
import { openStoredCatalog, type StoredCatalog } from '../catalog/stored.ts';
import { SERVER_SETTINGS } from './server-settings.ts';
import type { Services } from './services.ts';

/** The operator's file, if there is one; otherwise the catalog in the store, which the console edits. */
export async function openAnyCatalog(services: Services): Promise<CatalogSource | StoredCatalog> {
  const { config, log, clock } = services;
  if (config.catalogPath === undefined) return await openStored(services);
  const shared = { builtin: builtinCatalog, env: config.env, settings: SERVER_SETTINGS, log, clock };
  return openCatalog({ path: config.catalogPath, ...shared });
}

export async function openStored({ config, store, secret, log, clock }: Services): Promise<StoredCatalog> {
  return await openStoredCatalog({
    db: store.db,
    durable: () => store.durable(),
    sealingKey: secret.key('provider keys'),
    builtin: builtinCatalog,
    env: config.env,
    settings: SERVER_SETTINGS,
    log,
    clock,
  });
}
