import type { CatalogSource } from '../catalog/catalog.ts';
import { AccessLog } from '../std/access-log.ts';
import type { LiveServerSettings } from './server-settings.ts';
import type { Services } from './services.ts';

/** Follows the setting: a change of the file is in force from the next answer on. */
export function openAccessLog(
  { log, clock }: Services,
  { catalog, settings }: { catalog: Pick<CatalogSource, 'onChange'>; settings: LiveServerSettings },
  opened: AsyncDisposableStack,
): AccessLog {
  const accessLog = new AccessLog({ log, now: () => clock.now() });
  opened.defer(() => accessLog.written());
  accessLog.setShare(settings.accessShare());
  catalog.onChange(() => accessLog.setShare(settings.accessShare()));
  return accessLog;
}
