import { dictionary } from '@zxcvbn-ts/language-common';
import { afterEach, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { preparedDataFolder } from '../../../test/support/prepared-folder.ts';
import { betterAuth } from 'better-auth';
import { testPostgres } from '../../../test/support/postgres.ts';
import { systemClock } from '../../std/clock.ts';
import type { Fault } from '../../std/fault.ts';
import { silentLog } from '../../std/log.ts';
import { openStore, type Store } from '../../store/store.ts';
import { isEasyToGuess, makePasswords, type Passwords } from './password.ts';
import { libraryOptions } from './library.ts';
import { AUTH_ROUTES } from './routes.ts';
import { makeThrottle } from './throttle.ts';
import { makeAuth } from './auth.ts';
import { LEDGER_SQL } from '../../ledger/postgres/functions.ts';

const folders: string[] = [];
const stores: Store[] = [];
const META = { address: '10.0.0.1', secure: true, origin: 'https://tollgate.example' };
const SECRET = 'c9f0f895fb98ab9159f51fd0297e236d';
const PASSWORD = 'a perfectly fine phrase';

async function openSqlite(databaseUrl?: string): Promise<Store> {
  const dataDir = await preparedDataFolder('tollgate-auth-');
  folders.push(dataDir);
  const store = await openStore({
    dataDir,
    databaseUrl,
    log: silentLog,
    clock: systemClock,
    ledgerSql: LEDGER_SQL,
  });
  stores.push(store);
  return store;
}

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Real password hashing that counts its calls. */
function countedPasswords(): Passwords & { count: number } {
  const real = makePasswords();
  const counted = {
    count: 0,
    hash: (password: string) => (counted.count++, real.hash(password)),
    verify: (password: string, hash: string) => (counted.count++, real.verify(password, hash)),
  };
  return counted;
}

describe('the sign-in library', () => {
  test('has every table and column that it needs, on both databases', async () => {
    const postgres = await testPostgres();
    for (const store of [await openSqlite(), await openSqlite(await postgres.freshDatabase())]) {
      const parts = {
        store,
        passwords: makePasswords(),
        secret: SECRET,
        mailboxKey: new Uint8Array(32),
        social: {},
        clock: systemClock,
        log: silentLog,
      };
      const { advanced, ...options } = libraryOptions(parts, true);
      const checked = betterAuth({
        ...options,
        advanced: { ...advanced, database: { validateSchema: true } },
      });
      const context = (await checked.$context) as { checkSchema?: () => Promise<void> };
      expect(context.checkSchema).toBeFunction();
      await context.checkSchema?.();
    }
  }, 60_000);

  test('hashes once for an unknown address as for a wrong password, so that both take equally long', async () => {
    const passwords = countedPasswords();
    const auth = makeAuth({
      store: await openSqlite(),
      secret: SECRET,
      mailboxKey: new Uint8Array(32),
      clock: systemClock,
      log: silentLog,
      passwords,
    });
    await auth.users.create({ email: 'known@example.com', password: PASSWORD, role: 'user' });
    for (const email of ['known@example.com', 'unknown@example.com']) {
      const before = passwords.count;
      const call = { headers: new Headers(), meta: META, visitor: undefined };
      const refused = await auth
        .post('sign-in/email', { email, password: 'wrong wrong' }, call)
        .catch((error: unknown) => error);
      expect((refused as Fault).code).toBe('invalid_credentials');
      expect([email, passwords.count - before]).toEqual([email, 1]);
    }
  });

  test('never redirects to another site after a social sign-in', () => {
    const { body } = AUTH_ROUTES['sign-in/social'];
    const ok = (callbackURL: string) => body.safeParse({ provider: 'github', callbackURL }).success;
    expect([ok('/app'), ok('/app?x=1#y')]).toEqual([true, true]);
    for (const url of [
      '//evil.example',
      '/\\evil.example',
      '\\\\evil',
      'https:evil',
      'https://evil.example',
      '/ /evil',
      'javascript:alert(1)',
      '',
    ]) {
      expect([url, ok(url)]).toEqual([url, false]);
    }
  });

  test('offers a provider only when it is configured', async () => {
    const parts = {
      store: await openSqlite(),
      secret: SECRET,
      mailboxKey: new Uint8Array(32),
      clock: systemClock,
      log: silentLog,
    };
    expect(makeAuth(parts).socialProviders).toEqual([]);
    const auth = makeAuth({ ...parts, social: { github: { clientId: 'id', clientSecret: 'secret' } } });
    expect(auth.socialProviders).toEqual(['github']);
    const call = { headers: new Headers(), meta: META, visitor: undefined };
    const response = await auth.post('sign-in/social', { provider: 'github', callbackURL: '/app' }, call);
    const { url } = (await response.json()) as { url: string };
    expect(new URL(url).origin).toBe('https://github.com');
    expect(new URL(url).searchParams.get('redirect_uri')).toBe(
      'https://tollgate.example/api/auth/callback/github',
    );
    const unconfigured = auth.post('sign-in/social', { provider: 'google', callbackURL: '/app' }, call);
    expect(await unconfigured.catch((error: unknown) => (error as Fault).status)).toBeGreaterThanOrEqual(400);
  });
});

describe('hashing', () => {
  test('runs a few at a time, keeps a short queue, and refuses the rest with a retry time', async () => {
    const passwords = makePasswords({ parallel: 1, queue: 3 });
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => passwords.hash(PASSWORD)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
    const refused = results.find((result) => result.status === 'rejected');
    expect(refused?.reason).toMatchObject({ code: 'service_unavailable' });
    expect(await passwords.verify(PASSWORD, await passwords.hash(PASSWORD))).toBe(true);
  });

  test('is argon2id with 19 MiB and two passes', async () => {
    expect(await makePasswords().hash(PASSWORD)).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });
});

describe('a common password', () => {
  const COMMON = ['password', 'Password1', 'P@ssw0rd!', 'passwordpassword', '1password1', 'qwerty123', 'qwertyuiop', '1q2w3e4r5t', 'iloveyou2',
    'welcome2024', 'Summer2025!', 'monkey123', 'dragon99', 'letmein!', 'admin123', 'changeme', '12345678', '123456789', '87654321', 'abcdefgh',
    'abcd1234', '11111111', 'abababab', 'trustno1', 'football1', 'michael1', 'zaq12wsx', '1qaz2wsx', 'asdfghjkl', 'correcthorsebatterystaple']; // prettier-ignore

  test('is refused in every usual variation', async () => {
    expect(await amongEasy(COMMON, 'x@example.com')).toEqual(COMMON);
    expect(await isEasyToGuess('josephine77', 'josephine@example.com')).toBe(true);
  });

  test('is refused when a list of stolen ones has it', async () => {
    const stolen = dictionary['passwords-common'].filter(({ length }) => length >= 8).slice(0, 300);
    expect(stolen).toHaveLength(300);
    expect(await amongEasy(stolen, 'x@example.com')).toEqual(stolen);
  });

  test('is refused in other languages too, and with the name of what it opens', async () => {
    const others = [
      'Passwort2024!',
      'hallo1234',
      'Sommer2025!',
      'contraseña1',
      'wachtwoord1',
      'Tollgate2025',
    ];
    expect(await amongEasy(others, 'x@example.com')).toEqual(others);
  });

  test('is not confused with a passphrase or a random password', async () => {
    const fine = [
      'a perfectly fine phrase',
      'Tr0ub4dor&3x',
      'kV9#mQ2$xL7p',
      'purple monkey dishwasher',
      'naehmaschine im flur',
      '7hRbQ0zWk3Vd',
      'x7Kq2mVd',
      `${'ein ganz langer satz '.repeat(6)}.`,
    ];
    expect(await amongEasy(fine, 'x@example.com')).toEqual([]);
  });

  test('costs no more to estimate when it is longer, however it is made', async () => {
    const hostile = 'p4$$w0rd1!|7'.repeat(11).slice(0, 128);
    const [short, long] = [hostile.slice(0, 32), hostile];
    await isEasyToGuess(short, '');
    expect(await fastestOf(() => isEasyToGuess(long, ''))).toBeLessThan(
      10 * (await fastestOf(() => isEasyToGuess(short, ''))),
    );
  });

  test('needs its dictionaries only once a password is chosen, not at the start', async () => {
    const script = `
      const loaded = () => Object.keys(require.cache).some((path) => path.includes('zxcvbn'));
      await import('./src/main/main.ts');
      const { isEasyToGuess } = await import('./src/identity/sign-in/password.ts');
      const before = loaded();
      await isEasyToGuess('abcdefgh1', '');
      console.log(JSON.stringify([before, loaded()]));`;
    const root = join(import.meta.dir, '../../..');
    const child = Bun.spawn([process.execPath, '-e', script, '--', '--help'], { cwd: root, stderr: 'pipe' });
    expect((await new Response(child.stdout).text()).trim()).toEndWith('[false,true]');
  });

  async function amongEasy(passwords: readonly string[], email: string): Promise<string[]> {
    const easy: string[] = [];
    for (const password of passwords) if (await isEasyToGuess(password, email)) easy.push(password);
    return easy;
  }

  async function fastestOf(work: () => Promise<unknown>): Promise<number> {
    let fastest = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 5; round++) {
      const startedAt = performance.now();
      await work();
      fastest = Math.min(fastest, performance.now() - startedAt);
    }
    return fastest;
  }
});

describe('throttling', () => {
  test('stays small and fast with a million different subjects', () => {
    const throttle = makeThrottle({ now: () => 0 });
    for (let n = 0; n < 200_000; n++) throttle.act('redeem', `warm-up-${n}`);
    Bun.gc(true);
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 1_000_000; n++) throttle.act('redeem', `account-${n}`);
    Bun.gc(true);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20 * 1_048_576);
    for (let n = 0; n < 9; n++) throttle.act('redeem', 'account-999999');
    expect(() => throttle.act('redeem', 'account-999999')).toThrow('Too many attempts');
  });

  const FOR_ALL = ['sign_in', 'sign_up', 'reset_mail', 'challenge'] as const;
  const actTimes = (act: () => unknown, times: number): number => {
    let done = 0;
    for (let n = 0; n < times; n++) {
      try {
        act();
        done++;
      } catch {
        // Refused: only what was allowed is counted.
      }
    }
    return done;
  };

  test.each(FOR_ALL)('%s: what a network’s own limit refuses takes nothing from everybody else', (action) => {
    const throttle = makeThrottle({ now: () => 0 });
    for (let network = 0; network < 30; network++)
      actTimes(() => throttle.act(action, `192.0.2.${network}`), 300);
    expect(() => throttle.act(action, '198.51.100.1')).not.toThrow();
  });

  test.each(FOR_ALL)(
    '%s: everybody together is bounded, and who is known has room all the same',
    (action) => {
      const throttle = makeThrottle({ now: () => 0 });
      const networks = Array.from({ length: 400 }, (_, n) => `198.18.${n >> 8}.${n & 255}`);
      const done = networks.map((network) => actTimes(() => throttle.act(action, network), 65));
      expect(done.at(-1)).toBe(0);
      expect(() => throttle.act(action, '192.0.2.1')).toThrow('Too many attempts');
      const known = () => actTimes(() => throttle.act(action, '192.0.2.1', 'ann'), 100);
      expect(known()).toBe(done[0] ?? 0);
      expect(known()).toBe(0);
    },
  );

  test.each(FOR_ALL)('%s: the 65,536 networks of one IPv6 site cannot use it up', (action) => {
    const throttle = makeThrottle({ now: () => 0 });
    for (let n = 0; n < 100; n++) actTimes(() => throttle.act(action, `2001:db8:1:${n.toString(16)}::1`), 65);
    expect(() => throttle.act(action, '2001:db8:1:ffff::1')).toThrow('Too many attempts');
    expect(() => throttle.act(action, '2001:db8:2::1')).not.toThrow();
  });

  test('what is given back can be done again', () => {
    const throttle = makeThrottle({ now: () => 0 });
    expect(actTimes(() => throttle.act('sign_in', '192.0.2.1').giveBack(), 1_000)).toBe(1_000);
  });
});
