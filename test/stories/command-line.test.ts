import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMMANDS, runCli } from '../../src/cli/cli.ts';
import type { CliContext } from '../../src/cli/command.ts';
import { NO_PASSWORD } from '../../src/cli/testing/password-input.ts';
import { makePasswords } from '../../src/identity/sign-in/password.ts';
import { MailServer } from '../../src/outbox/testing/mail-server.ts';
import { makeUsers } from '../../src/identity/sign-in/users.ts';
import { readConfig } from '../../src/main/config.ts';
import { closeServices, openServices } from '../../src/main/services.ts';
import { systemClock } from '../../src/std/clock.ts';
import { silentLog } from '../../src/std/log.ts';

/** What an operator and their scripts can rely on at the command line. */

const MAIN = join(import.meta.dir, '../../src/main/main.ts');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-command-line-'));
const env = { PATH: process.env['PATH'] ?? '', HOME: folder, TOLLGATE_DATA: join(folder, 'data') };
const PASSWORD = 'correct horse 9 battery';

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A process, as the operator's shell starts it. */
async function tollgate(words: readonly string[], more: { stdin?: string; env?: object } = {}): Promise<Ran> {
  const child = Bun.spawn([process.execPath, MAIN, ...words], {
    cwd: folder,
    env: { ...env, ...more.env },
    stdin: new Blob([more.stdin ?? '']),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, err };
}

/** In this process, with nothing to open: help and mistakes must not need the store. */
async function withoutStore(...words: string[]): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const context = {
    env: {},
    clock: systemClock,
    print: (line: string) => void out.push(line),
    warn: (line: string) => void err.push(line),
    passwordInput: NO_PASSWORD,
    withStore: () => Promise.reject(new Error('the store was opened')),
    withServices: () => Promise.reject(new Error('the store was opened')),
  } as unknown as CliContext;
  const code = await runCli(words, context, (line) => void err.push(line));
  return { code, out: out.join('\n'), err: err.join('\n') };
}

describe('help', () => {
  const topics = [...new Set(COMMANDS.flatMap(({ name }) => [name, name.split(' ')[0] ?? name]))];

  test.each(topics)('tollgate %s --help is on standard output, with exit code 0', async (topic) => {
    const words = topic.split(' ');
    const asked = await withoutStore(...words, '--help');
    expect({ code: asked.code, err: asked.err }).toEqual({ code: 0, err: '' });
    expect(asked.out).toContain(`tollgate ${topic}`);
    expect(await withoutStore('help', ...words)).toEqual(asked);
    expect(await withoutStore(...words, '-h')).toEqual(asked);
  });

  test('the whole list too, also for a group, and as JSON', async () => {
    const all = await withoutStore('--help');
    expect(all.code).toBe(0);
    for (const { name } of COMMANDS) expect(all.out).toContain(`tollgate ${name}`);
    expect(await withoutStore('help')).toEqual(all);
    expect(await withoutStore()).toEqual(all);
    const group = await withoutStore('secret', '--json');
    expect(JSON.parse(group.out).commands.map(({ name }: { name: string }) => name)).toEqual([
      'secret rotate',
      'secret reset',
    ]);
  });

  test('a server is not started by who asks what serve does', async () => {
    const { code, out, err } = await tollgate(['serve', '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('tollgate serve');
    expect((await tollgate(['serve', '--port', '80'])).code).toBe(2);
  });
});

describe('a mistake on the command line ends with 2 and opens nothing', () => {
  test.each([
    [
      ['acount', 'create', 'a@example.com'],
      "There is no command 'acount create'. Did you mean 'account create'?",
    ],
    [['verfy'], "There is no command 'verfy'. Did you mean 'verify'?"],
    [['account', 'crate', 'a@example.com'], "Did you mean 'account create'?"],
    [['cofee'], "There is no command 'cofee'. All of them: tollgate help"],
    [['verify', '--ful'], "There is no option '--ful'. Did you mean '--full'?"],
    [['account', 'show'], 'An argument is missing.'],
    [
      ['account', 'remove', 'a@example.com', 'b@example.com', '--yes'],
      "One argument is too many: 'b@example.com'.",
    ],
    [['account', 'password', 'a@example.com'], 'A password is missing.'],
    [['account', 'password', 'a@example.com', '--password-stdin'], 'There is no password on standard input.'],
  ])('%j: %s', async (words, message) => {
    const plain = await withoutStore(...words);
    expect({ code: plain.code, out: plain.out }).toEqual({ code: 2, out: '' });
    expect(plain.err).toContain(message);
    const json = await withoutStore(...words, '--json');
    expect({ code: json.code, out: json.out }).toEqual({ code: 2, out: '' });
    expect(JSON.parse(json.err)).toEqual({
      error: { code: 'usage', message: expect.stringContaining(message) },
    });
  });
});

test('every command takes --json', () => {
  expect(COMMANDS.filter(({ flags }) => flags['json']?.type !== 'boolean').map(({ name }) => name)).toEqual(
    [],
  );
});

describe('exit codes and errors that a script can tell apart', () => {
  test('0, 2, 3, 4 and 5, each with its error as JSON on standard error', async () => {
    const create = ['account', 'create', 'a@example.com', '--balance', '5', '--json'];
    const made = await tollgate(create);
    expect({ code: made.code, err: made.err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(made.out)).toMatchObject({ email: 'a@example.com', balance_usd: 5 });
    const results = await Promise.all([
      tollgate(['account', 'credit', 'a@example.com', 'five', '--json']),
      tollgate(['verify', '--json'], { env: { TOLLGATE_PORT: 'eighty' } }),
      tollgate(['account', 'show', 'nobody@example.com', '--json']),
      tollgate(['receipt', 'req_nothing', '--json']),
      tollgate(['catalog', 'check', 'nothing.yaml', '--json']),
      tollgate(create),
      tollgate(['account', 'create', 'b@example.com', '--password-stdin', '--json'], { stdin: '12345678' }),
      tollgate(['verify', '--json'], { env: { TOLLGATE_SECRET: 'another secret than that of the store' } }),
    ]);
    expect(results.map(({ out }) => out).join('')).toBe('');
    const seen = results.map(({ code, err }) => [code, JSON.parse(err).error.code]);
    expect(seen).toEqual([
      [2, 'usage'],
      [2, 'usage'],
      [3, 'not_found'],
      [3, 'not_found'],
      [3, 'not_found'],
      [4, 'invalid_field'],
      [4, 'weak_password'],
      [5, 'unavailable'],
    ]);
    // The account of a password that was refused does not exist either.
    expect((await tollgate(['account', 'show', 'b@example.com'])).code).toBe(3);
  }, 60_000);

  test('what checks find is one JSON object, with exit code 1', async () => {
    writeFileSync(
      join(folder, 'bad.yaml'),
      'upstreams: { house: { kind: hosue } }\nlists: {}\nendpoints: {}\n',
    );
    const bad = await withoutStore('catalog', 'check', join(folder, 'bad.yaml'), '--json');
    expect(bad.code).toBe(1);
    expect(JSON.parse(bad.out)).toMatchObject({
      ok: false,
      mistakes: [
        { line: 1, path: 'upstreams.house.kind', message: expect.stringMatching(/^did you mean house\?/) },
      ],
    });
    const doctor = await tollgate(['doctor', '--json'], { env: { TOLLGATE_PORT: '0' } });
    const { ok, checks } = JSON.parse(doctor.out);
    expect({ code: doctor.code, ok }).toEqual({ code: 0, ok: true });
    expect(checks).toContainEqual({ result: 'ok', text: expect.stringContaining('store: ') });
  }, 60_000);

  test('a mail server that cannot be used is one of them, where mail is configured', async () => {
    const mailServer = await MailServer.start({ password: 'the right one' });
    const { host } = new URL(mailServer.config.smtpUrl);
    const mail = {
      TOLLGATE_PORT: '0',
      TOLLGATE_SMTP_URL: `smtp://gate:a-wrong-one@${host}`,
      TOLLGATE_MAIL_FROM: 'gate@example.com',
      TOLLGATE_PUBLIC_URL: 'https://localhost',
    };
    const doctor = await tollgate(['doctor', '--json'], { env: mail });
    await mailServer.stop();
    const { ok, checks } = JSON.parse(doctor.out);
    expect({ code: doctor.code, ok }).toEqual({ code: 1, ok: false });
    const text = `mail: ${host} does not accept the user and the password of TOLLGATE_SMTP_URL (535).`;
    expect(checks).toContainEqual({ result: 'failed', text });
    expect(checks.filter(({ result }: { result: string }) => result === 'failed')).toHaveLength(1);
  }, 60_000);
});

describe('a password', () => {
  /** Whether somebody can sign in with it, by the store itself. */
  async function opens(email: string, password: string): Promise<boolean> {
    const services = await openServices(readConfig(env), silentLog, systemClock);
    try {
      const users = makeUsers({ store: services.store, clock: systemClock, passwords: makePasswords() });
      return await users.checkPassword((await services.accounts.require(email)).id, password);
    } finally {
      await closeServices(services);
    }
  }

  test('comes from standard input, without its end of line and without a warning', async () => {
    const words = ['account', 'create', 'c@example.com', '--password-stdin', '--json'];
    const made = await tollgate(words, { stdin: `${PASSWORD}\r\nmore` });
    expect({ code: made.code, err: made.err }).toEqual({ code: 0, err: '' });
    expect(await opens('c@example.com', PASSWORD)).toBe(true);
  }, 60_000);

  test('on the command line works, with a warning that others can see it', async () => {
    const words = ['account', 'create', 'd@example.com', '--password', PASSWORD];
    const made = await tollgate(words);
    expect(made.code).toBe(0);
    expect(made.err).toContain('others on this machine can see a password on the command line');
    expect(made.err + made.out).not.toContain(PASSWORD);
    expect(await opens('d@example.com', PASSWORD)).toBe(true);
    expect((await withoutStore(...words, '--password-stdin')).code).toBe(2);
  }, 60_000);

  test('at a terminal it is asked for twice and never shown; a slip of the fingers changes nothing', async () => {
    await tollgate(['account', 'create', 'e@example.com']);
    const differs = await atTerminal(['account', 'password', 'e@example.com'], `${PASSWORD}\r`, 'other\r');
    expect(differs.code).toBe(2);
    expect(differs.shown).toContain('The two passwords differ.');
    // The last letter was wrong and is taken back.
    const set = await atTerminal(
      ['account', 'password', 'e@example.com'],
      `${PASSWORD}x\u007f\r`,
      `${PASSWORD}\r`,
    );
    expect(set.code).toBe(0);
    expect(set.shown).not.toContain('correct horse');
    expect(await opens('e@example.com', PASSWORD)).toBe(true);
  }, 60_000);

  /** Types each line when its question is there. */
  async function atTerminal(words: readonly string[], first: string, second: string) {
    let shown = '';
    const lines = [
      { question: 'Password: ', text: first },
      { question: 'Again: ', text: second },
    ];
    const child = Bun.spawn([process.execPath, MAIN, ...words], {
      cwd: folder,
      env,
      terminal: {
        data(terminal, bytes) {
          shown += Buffer.from(bytes).toString('utf8');
          const [next] = lines;
          if (!next || !shown.includes(next.question)) return;
          lines.shift();
          terminal.write(next.text);
        },
      },
    });
    const code = await child.exited;
    child.terminal?.close();
    return { code, shown };
  }
});
