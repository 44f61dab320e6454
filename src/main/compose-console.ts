import { readFile } from 'node:fs/promises';
import type { CatalogSource } from '../catalog/catalog.ts';
import { storedText } from '../catalog/catalog-data.ts';
import { parseCatalog } from '../catalog/parse.ts';
import { StoredCatalog } from '../catalog/stored.ts';
import { editedYaml } from '../catalog/yaml-text.ts';
import { makeConsole, type Console } from '../console/app.ts';
import type { CatalogImportTarget, ConsoleMessages, OperationHealth } from '../console/parts.ts';
import type { PlaygroundRelay } from '../console/playground-relay.ts';
import { ReceiptLinks } from '../console/receipt-links.ts';
import type { WebFile } from '../console/site.ts';
import { createSetup, type Setup } from '../identity/sign-in/setup.ts';
import { makeAuth, type Auth } from '../identity/sign-in/auth.ts';
import type { Payments } from '../payments/payments.ts';
import { IdempotencyStore } from '../ledger/idempotency-store.ts';
import { RedeemCodes } from '../ledger/codes.ts';
import type { MessageServices } from './compose-outbox.ts';
import { tryBackend } from './live/try-backend.ts';
import { SERVER_SETTINGS, type LiveServerSettings } from './server-settings.ts';
import type { Services } from './services.ts';
import type { Log } from '../std/log.ts';
import type { Pool } from '../upstream/pool.ts';
import { currentRelease, releaseName } from '../std/release.ts';

export interface ConsoleServices {
  readonly console: Console;
  readonly auth: Auth;
  readonly setup: Setup;
}

interface ConsoleSources {
  readonly payments: Payments | undefined;
  readonly catalog: CatalogSource;
  readonly settings: LiveServerSettings;
  readonly pool: Pool;
  readonly playground: PlaygroundRelay;
  readonly messages: MessageServices;
  readonly operation: OperationHealth;
}

/** The console with its sign-in, on the same services as the API. */
export function composeConsole(
  services: Services,
  { catalog, settings, pool, playground, messages, payments, operation }: ConsoleSources,
): ConsoleServices {
  const { store, secret, clock, log, config, accounts, ledger } = services;
  const auth = makeAuth({
    store,
    secret: Buffer.from(secret.key('sessions')).toString('hex'),
    mailboxKey: secret.key('mailboxes'),
    clock,
    log,
    notices: services.notices,
    publicUrl: config.publicUrl,
    social: { github: socialLogin(config.env, 'GITHUB'), google: socialLogin(config.env, 'GOOGLE') },
  });
  const setup = createSetup({ store, users: auth.users, clock });
  const console = makeConsole({
    store,
    ledger: ledger.ledger,
    auth,
    setup,
    accounts,
    teams: services.teams,
    operators: services.operators,
    keyedAnswers: new IdempotencyStore(store, clock),
    codes: new RedeemCodes({ store, ledger: ledger.ledger, key: secret.key('codes'), clock }),
    payments,
    catalog,
    restartNeeded: () => settings.restartNeeded(),
    catalogEditor: catalog instanceof StoredCatalog ? catalog : undefined,
    importTarget: async () => await importTarget(catalog, config.env),
    hasVariable: (name) => Boolean(config.env[name]),
    tryBackend: (trial) => tryBackend(trial, clock),
    backends: pool,
    operation,
    playground,
    receiptLinks: new ReceiptLinks({ key: secret.key('receipt links'), clock }),
    messages: consoleMessages(services, messages),
    images: services.images,
    imageQuotaBytes: config.imageQuotaBytes,
    publicUrl: config.publicUrl,
    clock,
    log,
    version: releaseName(currentRelease()),
  });
  return { console, auth, setup };
}

function consoleMessages(
  { config: { mail }, outbox, notices }: Services,
  { sender, webhooks }: MessageServices,
): ConsoleMessages {
  const shown = mail && { from: mail.from.address, server: new URL(mail.smtpUrl).host };
  return { outbox, notices, sender, webhooks, mail: shown };
}

/** The text is read anew each time: a file may have changed, and a stored catalog may have been saved. */
async function importTarget(
  catalog: CatalogSource,
  env: Services['config']['env'],
): Promise<CatalogImportTarget> {
  if (catalog instanceof StoredCatalog) {
    const { version: revision, json } = catalog.newest();
    return {
      text: json,
      revision,
      parse: (text, entered) => catalog.parse(text, entered),
      write: (_, changed) => storedText(changed),
    };
  }
  const { path = '' } = catalog.status();
  return {
    text: await readFile(path, 'utf8'),
    revision: undefined,
    parse: (text) => parseCatalog(text, { fileName: path, env, settings: SERVER_SETTINGS }),
    write: editedYaml,
  };
}

function socialLogin(
  env: Services['config']['env'],
  provider: string,
): { clientId: string; clientSecret: string } | undefined {
  const clientId = env[`TOLLGATE_${provider}_CLIENT_ID`];
  const clientSecret = env[`TOLLGATE_${provider}_CLIENT_SECRET`];
  return clientId && clientSecret ? { clientId, clientSecret } : undefined;
}

/** The console's pages are bundled when the server starts; a compiled binary contains them. */
export async function webFiles(log: Log): Promise<ReadonlyMap<string, WebFile>> {
  try {
    const { loadPages } = await import('../../web/pages.ts');
    return await loadPages();
  } catch (error) {
    log.error('console_bundling_failed', { error });
    return new Map();
  }
}
