import { parseBudget } from '../../src/identity/accounts/account-limits.ts';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/main/config.ts';
import type { Clock } from '../../src/std/clock.ts';
import type { AccountId, Random } from '../../src/std/ids.ts';
import { makeLog } from '../../src/std/log.ts';
import { parseUsd } from '../../src/std/money.ts';
import { startTollgate, type Tollgate } from '../../src/main/compose.ts';
import { tablesOf } from '../support/dump.ts';
import { METRICS_TOKEN, metricsOf, UsedSecrets } from '../support/leaks.ts';
import { prepareDataFolder } from '../support/prepared-folder.ts';

/** What providers answer, recorded from them. */
export { readFixture, streamFixture, WIRES, type Wire } from './answers/wires.ts';
export { REQUESTS } from '../../src/upstream/ai-sdk/testing/requests.ts';

/**
 * The gateway of the golden corpus, with a fixed clock and repeatable ids. Only this file depends on the program's
 * sources: if they are moved or renamed, only the imports above change.
 */
export class GoldenGateway {
  readonly #tollgate: Tollgate;
  readonly #folder: string;
  readonly #log: readonly string[];
  readonly #secrets: UsedSecrets;
  readonly clock: FixedClock;
  readonly random: SeededRandom;
  #stopped: Promise<void> | undefined;

  private constructor(tollgate: Tollgate, parts: GoldenParts) {
    this.#tollgate = tollgate;
    this.#folder = parts.folder;
    this.#log = parts.log;
    this.#secrets = parts.secrets;
    this.clock = parts.clock;
    this.random = parts.random;
  }

  static async start(catalog: string, env: Record<string, string>): Promise<GoldenGateway> {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-golden-'));
    const file = join(folder, 'tollgate.yaml');
    writeFileSync(file, catalog);
    const config = readConfig({
      ...env,
      TOLLGATE_CONFIG: file,
      TOLLGATE_DATA: join(folder, 'data'),
      TOLLGATE_PORT: '0',
      TOLLGATE_METRICS_TOKEN: METRICS_TOKEN,
      // Whether a count is ready in time must not depend on the machine.
      TOLLGATE_COUNT_WAIT_MS: '30000',
      TOLLGATE_SECRET: 'the secret of the golden corpus',
      // Cases move the clock by minutes; no hold may expire in the meantime.
      TOLLGATE_LEASE_SECONDS: '3600',
    });
    await prepareDataFolder(config.dataDir);
    const clock = new FixedClock();
    const random = new SeededRandom();
    const log: string[] = [];
    const secrets = new UsedSecrets(env, catalog);
    const tollgate = await startTollgate(
      config,
      makeLog((line) => log.push(line)),
      clock,
      random,
    );
    return new GoldenGateway(tollgate, { folder, log, secrets, clock, random });
  }

  get url(): string {
    return this.#tollgate.url;
  }

  async account(email: string, options: AccountOptions): Promise<{ readonly id: string; token: string }> {
    const { accounts, teams } = this.#tollgate.services;
    const balance = parseUsd(options.usd ?? '10');
    if (balance === undefined) throw new Error(`'${options.usd}' is not an amount`);
    const { account, token } = await accounts.create(email, { balance, actor: 'golden' });
    const id = account.id as AccountId;
    const { monthlyUsd, disabled, budget, models, networks, ...limits } = options;
    await accounts.setLimits(id, { ...limits, monthlyLimit: monthlyUsd ? parseUsd(monthlyUsd) : undefined });
    await teams.setLimits(id, {
      budget: budget === undefined ? undefined : parseBudget(budget),
      models,
      networks,
    });
    if (disabled) await accounts.setStatus(id, 'disabled');
    return { id, token };
  }

  /** Takes a table away, so that whatever needs it fails in a way that nobody foresaw. */
  async loseTable(table: 'image' | 'request'): Promise<void> {
    const lost = table === 'request' ? 'hold' : table;
    await this.#tollgate.services.store.db.schema.dropTable(lost).execute();
  }

  /** Begins to shut down: requests are still served, and their connections closed. */
  drain(): void {
    this.#tollgate.announceStop();
    this.#tollgate.closeAfterAnswers();
  }

  /** Shuts down without waiting for what runs. */
  cutAll(): void {
    this.#stopped ??= this.#tollgate.stop(0);
  }

  /** Fails if a token or a key was written down anywhere. */
  async stop(): Promise<void> {
    const metrics = await metricsOf(this.url);
    this.#stopped ??= this.#tollgate.stop(0);
    await this.#stopped;
    const tables = await tablesOf(join(this.#folder, 'data'), undefined);
    rmSync(this.#folder, { recursive: true, force: true });
    this.#secrets.requireNone({ url: this.url, log: this.#log.join('\n'), metrics, tables });
  }
}

interface GoldenParts {
  readonly folder: string;
  readonly log: readonly string[];
  readonly secrets: UsedSecrets;
  readonly clock: FixedClock;
  readonly random: SeededRandom;
}

export interface AccountOptions {
  readonly usd?: string;
  readonly chatPerMinute?: number;
  readonly imagesPerMinute?: number;
  readonly concurrent?: number;
  readonly monthlyUsd?: string;
  readonly budget?: string;
  readonly models?: readonly string[];
  readonly networks?: readonly string[];
  readonly disabled?: boolean;
}

const START_MS = Date.UTC(2026, 0, 15, 12);
/** Timers of the gateway look at the clock a few times a second; after so many looks each of them had its turn. */
const LOOKS = 5;

/** Stands still until it is told to move. */
export class FixedClock implements Clock {
  #nowMs = START_MS;
  #looks = 0;
  #sameTurn = false;
  #waiting: { readonly until: number; readonly wake: () => void }[] = [];

  now(): number {
    this.#countLook();
    return this.#nowMs;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }

  /** Resolves when the gateway's timers have all seen the present time. */
  async seen(): Promise<void> {
    await new Promise<void>((wake) => this.#waiting.push({ until: this.#looks + LOOKS, wake }));
  }

  /** Looks of one turn of the loop are one timer's. */
  #countLook(): void {
    if (this.#sameTurn || this.#waiting.length === 0) return;
    this.#sameTurn = true;
    setImmediate(() => {
      this.#sameTurn = false;
      this.#looks++;
      for (const one of this.#waiting.filter(({ until }) => until <= this.#looks)) one.wake();
      this.#waiting = this.#waiting.filter(({ until }) => until > this.#looks);
    });
  }
}

/** The same ids in the same order for each case, and others for another case. */
export class SeededRandom implements Random {
  #seed = '';
  #count = 0;

  reset(seed: string): void {
    this.#seed = createHash('sha256').update(seed).digest('hex');
    this.#count = 0;
  }

  // The store asks for both without knowing whose they are.
  readonly text = (length: number): string => {
    // Most of a short id is the seed's too: cases that share a gateway must not share an id.
    const number = String(++this.#count).padStart(Math.floor(length / 4), '0');
    return this.#seed.slice(0, length - number.length) + number;
  };

  readonly bytes = (length: number): Uint8Array => {
    const text = `${this.#seed}${++this.#count}`;
    return createHash('sha256').update(text).digest().subarray(0, length);
  };
}
