import { expect, test } from 'bun:test';
import { systemClock } from '../std/clock.ts';
import { runCli } from './cli.ts';
import { NO_PASSWORD } from './testing/password-input.ts';

/** Runs the command; it fails the test if it opens the store, which a mistake on the command line must prevent. */
async function runResetLink(...words: string[]): Promise<[code: number, error: string]> {
  const errors: string[] = [];
  const context = {
    env: {},
    builtIn: {},
    fileSettings: {},
    checkTls: () => ({ ok: true, line: '' }),
    clock: systemClock,
    print: () => expect.unreachable(),
    warn: () => undefined,
    passwordInput: NO_PASSWORD,
    dataDirAsOwner: () => '',
    machineUser: 'deploy',
    setupChecks: () => Promise.resolve([]),
    address: { host: '127.0.0.1', port: 0 },
    configuration: () => Promise.reject(new Error('not needed')),
    withCatalog: () => Promise.reject(new Error('not needed')),
    liveCheck: () => Promise.reject(new Error('not needed')),
    withStore: () => Promise.reject(new Error('not needed')),
    withMovedFolder: () => Promise.reject(new Error('not needed here')),
    withMoveTarget: () => Promise.reject(new Error('not needed here')),
    withServices: () => Promise.reject(new Error('the store was opened')),
  };
  const code = await runCli(['account', 'reset-link', ...words], context, (line) => errors.push(line));
  return [code, errors[0]?.split('\n')[0] ?? ''];
}

test('a reset link is valid for a whole number of hours, at most three days', async () => {
  for (const hours of ['0', '73', '1.5', '-1', 'long'])
    expect(await runResetLink('a@example.com', `--hours=${hours}`)).toEqual([
      2,
      '--hours takes a whole number from 1 to 72.',
    ]);
  await expect(runResetLink('a@example.com', '--hours', '72')).rejects.toThrow('the store was opened');
});

test('--url takes an address without a path or anything else that would break the link', async () => {
  for (const url of [
    'gate.example',
    'ftp://gate.example',
    'https://gate.example/x',
    'https://gate.example/?a=1',
    'https://gate.example/#a',
  ])
    expect((await runResetLink('a@example.com', '--url', url))[0]).toBe(2);
  await expect(runResetLink('a@example.com', '--url', 'https://gate.example/')).rejects.toThrow(
    'the store was opened',
  );
});

test('an email address is required', async () => {
  expect((await runResetLink())[0]).toBe(2);
});
