import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/main/config.ts';
import type { Verification } from '../../src/ledger/port.ts';
import { makeLog, type Log } from '../../src/std/log.ts';
import { nanoUsd, parseUsd, type NanoUsd } from '../../src/std/money.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { startTollgate, type Tollgate } from '../../src/main/compose.ts';
import { tablesOf } from './dump.ts';
import { METRICS_TOKEN, metricsOf, UsedSecrets } from './leaks.ts';
import { prepareDataFolder } from './prepared-folder.ts';

export interface GatewayOptions {
  /** The catalog file; absent, the built-in catalog. */
  readonly yaml?: string;
  readonly env?: Record<string, string>;
  readonly databaseUrl?: string;
}

export interface TestAccount {
  readonly id: AccountId;
  readonly email: string;
  readonly token: string;
}

/** A real Tollgate on a real port with a real store in a folder of its own. */
export class Gateway {
  readonly tollgate: Tollgate;
  readonly folder: string;
  /** Every line it logged. */
  readonly log: string[];
  readonly #databaseUrl: string | undefined;
  readonly #secrets: UsedSecrets;
  readonly #metricsToken: string | undefined;
  #accounts = 0;

  private constructor(tollgate: Tollgate, folder: string, log: string[], options: GatewayOptions) {
    this.tollgate = tollgate;
    this.folder = folder;
    this.log = log;
    this.#databaseUrl = options.databaseUrl;
    this.#metricsToken = options.env?.['TOLLGATE_METRICS_TOKEN'];
    this.#secrets = new UsedSecrets(options.env, options.yaml);
  }

  static async start(options: GatewayOptions = {}): Promise<Gateway> {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-'));
    const lines: string[] = [];
    if (options.databaseUrl === undefined) await prepareDataFolder(join(folder, 'data'));
    const tollgate = await startTollgate(configFor(folder, options), collecting(lines));
    return new Gateway(tollgate, folder, lines, options);
  }

  get url(): string {
    return this.tollgate.url;
  }

  /** An account with dollars on it, and with limits wide enough not to be in the way. */
  async account(
    usd: string,
    limits: { chat?: number; images?: number; concurrent?: number } = {},
  ): Promise<TestAccount> {
    const email = `user${++this.#accounts}@example.com`;
    const balance = parseUsd(usd) ?? nanoUsd(0);
    const { accounts } = this.tollgate.services;
    const { account, token } = await accounts.create(email, { balance, actor: 'test' });
    const id = account.id as AccountId;
    await accounts.setLimits(id, {
      chatPerMinute: limits.chat ?? 1_000_000,
      imagesPerMinute: limits.images ?? 1_000_000,
      concurrent: limits.concurrent ?? 100_000,
    });
    return { id, email, token };
  }

  async money(account: TestAccount): Promise<{ balance: NanoUsd; held: NanoUsd; open: number }> {
    const row = await this.tollgate.services.accounts.get(account.id);
    return { balance: nanoUsd(row.balance), held: nanoUsd(row.held), open: row.open_holds };
  }

  async receipt(requestId: string) {
    return await this.tollgate.services.store.db
      .selectFrom('request')
      .selectAll()
      .where('id', '=', requestId)
      .executeTakeFirstOrThrow();
  }

  async requests(account: TestAccount) {
    return await this.tollgate.services.store.db
      .selectFrom('request')
      .selectAll()
      .where('account_id', '=', account.id)
      .orderBy('id')
      .execute();
  }

  /** Resolves once no hold of the account is open. */
  async settled(account: TestAccount): Promise<void> {
    for (let tries = 0; tries < 2_000; tries++) {
      if ((await this.money(account)).open === 0) return;
      await Bun.sleep(5);
    }
    throw new Error('a hold stayed open');
  }

  async verify(): Promise<Verification> {
    return await this.tollgate.services.ledger.ledger.verify();
  }

  /** Fails the test if a secret that went through it was written down anywhere. */
  async stop(graceMs = 0): Promise<void> {
    const metrics = await metricsOf(this.url, this.#metricsToken);
    await this.tollgate.stop(graceMs);
    const tables = await tablesOf(join(this.folder, 'data'), this.#databaseUrl);
    rmSync(this.folder, { recursive: true, force: true });
    this.#secrets.requireNone({ url: this.url, log: this.log.join('\n'), metrics, tables });
  }

  async metrics(): Promise<string> {
    const response = await this.fetch('/metrics', { token: this.#metricsToken ?? METRICS_TOKEN });
    return await response.text();
  }

  fetch(path: string, init: RequestInit & { token?: string } = {}): Promise<Response> {
    const { token, ...rest } = init;
    const headers = new Headers(rest.headers);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    return fetch(`${this.url}${path}`, { ...rest, headers });
  }

  post(path: string, token: string | undefined, body: unknown, init: RequestInit = {}): Promise<Response> {
    this.#secrets.notePrompts(body);
    const headers = new Headers(init.headers);
    headers.set('content-type', 'application/json');
    return this.fetch(path, {
      method: 'POST',
      body: JSON.stringify(body),
      ...init,
      headers,
      ...(token === undefined ? {} : { token }),
    });
  }

  chat(
    token: string | undefined,
    body: Record<string, unknown> = {},
    init: RequestInit = {},
  ): Promise<Response> {
    const whole = { endpoint: 'svc_chat', model: 'm', messages: [{ role: 'user', content: 'hi' }], ...body };
    return this.post('/api/public/v1/chat/completions', token, whole, init);
  }

  image(
    token: string | undefined,
    body: Record<string, unknown> = {},
    init: RequestInit = {},
  ): Promise<Response> {
    const whole = { endpoint_code: 'svc_tgter', model: 'p', prompt: 'a gate', ...body };
    return this.post('/api/public/v1/images/generations', token, whole, init);
  }
}

/**
 * A catalog with one chat model `m` and one image model `p` on scripted backends. A client can tell raw-backend.ts what to
 * do in a field `script`, which passes.
 */
export function catalogFor(
  baseUrls: readonly string[],
  more: { prices?: string; upstream?: string; endpoint?: string; extra?: string } = {},
): string {
  const names = baseUrls.map((_, index) => `b${index}`);
  const prices = more.prices ?? 'input: 1, output: 2';
  return `
upstreams:
${baseUrls.map((url, index) => `  ${names[index]}: { kind: openai, base_url: "${url}", pass_fields: [script]${more.upstream ? `, ${more.upstream}` : ''} }`).join('\n')}
lists:
  chat_models:
    - { model: m, display_name: Model M, ${prices}, context: 200000, max_output: 100000, vision: true, tools: true }
  image_models:
    - { model: p, display_name: Painter, image: 0.01, sizes: [1024x1024, 512x512] }
endpoints:
  svc_chat: { name: primary chat, type: chat_completion, lists: [chat_models], upstreams: ${more.endpoint ?? `[${names.join(', ')}]`} }
  svc_tgter: { name: image generation, type: image_generation, lists: [image_models], upstreams: [${names[0]}] }
${more.extra ?? ''}`;
}

function configFor(folder: string, options: GatewayOptions) {
  const env: Record<string, string> = {
    TOLLGATE_DATA: join(folder, 'data'),
    TOLLGATE_PORT: '0',
    TOLLGATE_METRICS_TOKEN: METRICS_TOKEN,
    // A busy machine is no reason for a hold to be larger than the test expects.
    TOLLGATE_COUNT_WAIT_MS: '30000',
    ...(options.databaseUrl === undefined
      ? {}
      : {
          DATABASE_URL: options.databaseUrl,
          TOLLGATE_SECRET: 'a secret for tests only',
          // A busy machine is no reason for a request to fail where the test is about something else.
          TOLLGATE_DATABASE_DEADLINE_MS: '30000',
        }),
    ...options.env,
  };
  if (options.yaml !== undefined) {
    env['TOLLGATE_CONFIG'] = join(folder, 'tollgate.yaml');
    writeFileSync(env['TOLLGATE_CONFIG'], options.yaml);
  }
  return readConfig(env);
}

function collecting(lines: string[]): Log {
  return makeLog((line) => lines.push(line));
}
