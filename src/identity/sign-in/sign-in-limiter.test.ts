import { afterEach, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { preparedDataFolder } from '../../../test/support/prepared-folder.ts';
import { testPostgres } from '../../../test/support/postgres.ts';
import { LEDGER_SQL } from '../../ledger/postgres/functions.ts';
import { systemClock } from '../../std/clock.ts';
import { networkOf } from '../../std/addresses.ts';
import type { Fault } from '../../std/fault.ts';
import { silentLog } from '../../std/log.ts';
import { openStore, type Store } from '../../store/store.ts';
import { makeThrottle } from './throttle.ts';
import { makeSignInLimiter, type SignInAttempt, type SignInLimiter } from './sign-in-limiter.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

const DATABASES = {
  SQLite: () => Promise.resolve(undefined),
  Postgres: async () => (await testPostgres()).freshDatabase(),
};

async function opened(databaseUrl: string | undefined): Promise<Store> {
  const dataDir = await preparedDataFolder('tollgate-limiter-');
  cleanUps.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const store = await openStore({
    dataDir,
    databaseUrl,
    log: silentLog,
    clock: systemClock,
    ledgerSql: LEDGER_SQL,
  });
  cleanUps.push(() => store.close());
  return store;
}

/** A limiter whose clock the test moves. */
class Limited {
  now = 1_000_000;
  readonly store: Store;
  readonly limiter: SignInLimiter;

  constructor(store: Store, maxRows?: number) {
    this.store = store;
    const clock = { now: () => this.now };
    const throttle = makeThrottle(clock);
    this.limiter = makeSignInLimiter({ store, secret: 'a secret', clock, throttle }, maxRows);
  }

  /** Whether the attempt may be made; it then counts as wrong. */
  async wrong(attempt: Partial<SignInAttempt> = {}): Promise<boolean> {
    return await this.limiter.guess({ ...HERE, ...attempt }).then(
      () => true,
      (error: unknown) => {
        expect((error as Fault).code).toBe('rate_limit_exceeded');
        expect((error as Fault).retryAfterMs).toBeGreaterThan(0);
        return false;
      },
    );
  }

  async allowed(tries: number, attempt: (n: number) => Partial<SignInAttempt>): Promise<number> {
    let allowed = 0;
    for (let n = 0; n < tries; n++) if (await this.wrong(attempt(n))) allowed++;
    return allowed;
  }

  async rows(): Promise<number> {
    return (await this.store.db.selectFrom('sign_in_attempt').select('key').execute()).length;
  }
}

const HERE: SignInAttempt = { kind: 'password', subject: 'ann@example.com', address: '192.0.2.1' };
const elsewhere = (n: number) => ({ address: `198.51.${Math.floor(n / 250)}.${n % 250}` });

describe.each(Object.entries(DATABASES))('attempts to sign in on %s', (_, database) => {
  test('on one account from one network: ten in a quarter of an hour, and forgotten after an hour of quiet', async () => {
    const limited = new Limited(await opened(await database()));
    let made = 0;
    for (const end = limited.now + 900_000; limited.now < end; limited.now += 5_000)
      if (await limited.wrong()) made++;
    expect(made).toBe(10);
    limited.now += 3_600_000;
    expect(await limited.allowed(7, () => ({}))).toBe(5);
  });

  test('from one network do not delay another one', async () => {
    const limited = new Limited(await opened(await database()));
    expect(await limited.allowed(7, () => ({}))).toBe(5);
    expect(await limited.allowed(7, () => ({ address: '192.0.2.2' }))).toBe(5);
    expect(await limited.allowed(7, () => ({ subject: 'bob@example.com' }))).toBe(5);
  });

  test('from one network on any number of accounts are bounded, with all of a /64 as one', async () => {
    const limited = new Limited(await opened(await database()));
    const spread = (n: number) => ({
      subject: `p${n}@example.com`,
      address: `2001:db8:1:2::${n.toString(16)}`,
    });
    expect(await limited.allowed(40, spread)).toBe(30);
    limited.now += 10_000;
    expect(await limited.allowed(3, (n) => spread(n + 100))).toBe(1);
    expect(await limited.wrong({ address: '2001:db8:1:3::1' })).toBe(true);
  });

  test('on one account from any number of networks are bounded, and a known device is let in all the same', async () => {
    const limited = new Limited(await opened(await database()));
    expect(await limited.allowed(130, elsewhere)).toBe(100);
    expect(await limited.wrong({ address: '203.0.113.1' })).toBe(false);
    expect(await limited.wrong({ address: '203.0.113.1', subject: 'bob@example.com' })).toBe(true);
    expect(await limited.allowed(7, () => ({ device: 'her laptop' }))).toBe(5);
    limited.now += 60_000;
    expect(await limited.allowed(3, (n) => elsewhere(n + 200))).toBe(1);
  });

  test('that succeed do not count, and end the wait of their client only', async () => {
    const limited = new Limited(await opened(await database()));
    for (let n = 0; n < 200; n++)
      await (await limited.limiter.guess({ ...HERE, ...elsewhere(n % 4) })).right();
    await limited.allowed(4, () => ({}));
    await limited.allowed(5, () => elsewhere(0));
    await (await limited.limiter.guess(HERE)).right();
    expect(await limited.allowed(7, () => ({}))).toBe(5);
    expect(await limited.wrong(elsewhere(0))).toBe(false);
  });

  test('from before the secret was set do not count, later ones do', async () => {
    const limited = new Limited(await opened(await database()));
    await limited.allowed(5, () => ({}));
    const before = limited.now - 1;
    expect(await limited.wrong({ secretSetAt: () => Promise.resolve(before) })).toBe(false);
    limited.now += 2_000;
    const after = limited.now - 1;
    const secretSetAt = () => Promise.resolve(after);
    expect(await limited.allowed(7, () => ({ secretSetAt }))).toBe(5);
  });

  test('made at the same time cannot get past the limit', async () => {
    const limited = new Limited(await opened(await database()));
    const made = await Promise.all(Array.from({ length: 20 }, () => limited.wrong()));
    expect(made.filter(Boolean)).toHaveLength(5);
  });

  test('leave no rows behind when they no longer count, and never more than the most', async () => {
    const limited = new Limited(await opened(await database()), 20);
    for (let n = 0; n < 50; n++) await limited.wrong({ ...elsewhere(n), subject: `p${n}@example.com` });
    expect(await limited.rows()).toBe(150);
    await limited.limiter.sweep();
    expect(await limited.rows()).toBe(20);
    limited.now += 3_600_001;
    await limited.limiter.sweep();
    expect(await limited.rows()).toBe(0);
  });

  test('name nobody in the store', async () => {
    const limited = new Limited(await opened(await database()));
    await limited.wrong();
    const rows = JSON.stringify(await limited.store.db.selectFrom('sign_in_attempt').selectAll().execute());
    expect(rows).not.toMatch(/ann|example|192/);
  });
});

test('a /64 of IPv6 is one network, and an IPv4 address is itself however it is written', () => {
  const same = ['2001:db8:0:1::1', '2001:0db8:0000:0001:ffff::', '2001:DB8:0:1:1:2:3:4'].map(networkOf);
  expect(new Set(same).size).toBe(1);
  expect(networkOf('2001:db8:0:2::1')).not.toBe(same[0] ?? '');
  expect(networkOf('::ffff:192.0.2.1')).toBe(networkOf('192.0.2.1'));
  expect(networkOf('192.0.2.2')).not.toBe(networkOf('192.0.2.1'));
  expect(networkOf('::1')).toBe('0:0:0:0');
});
