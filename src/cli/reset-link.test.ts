import { expect, test } from 'bun:test';
import { systemClock } from '../std/clock.ts';
import { runCli } from './cli.ts';

/** Runs the command up to where it would open the store, which a mistake of who types never reaches. */
async function refused(...words: string[]): Promise<[code: number, complaint: string]> {
  const complaints: string[] = [];
  const context = {
    env: {},
    builtIn: {},
    fileSettings: {},
    checkTls: () => ({ ok: true, line: '' }),
    clock: systemClock,
    print: () => expect.unreachable(),
    withServices: () => Promise.reject(new Error('the store was opened')),
  };
  const code = await runCli(['account', 'reset-link', ...words], context, (line) => complaints.push(line));
  return [code, complaints[0]?.split('\n')[0] ?? ''];
}

test('a reset link lives a whole number of hours, at most three days', async () => {
  for (const hours of ['0', '73', '1.5', '-1', 'long'])
    expect(await refused('a@example.com', `--hours=${hours}`)).toEqual([
      2,
      '--hours takes a whole number from 1 to 72.',
    ]);
  await expect(refused('a@example.com', '--hours', '72')).rejects.toThrow('the store was opened');
});

test('the address of the console is one, without a path or anything else that would break the link', async () => {
  for (const url of [
    'gate.example',
    'ftp://gate.example',
    'https://gate.example/x',
    'https://gate.example/?a=1',
    'https://gate.example/#a',
  ])
    expect((await refused('a@example.com', '--url', url))[0]).toBe(2);
  await expect(refused('a@example.com', '--url', 'https://gate.example/')).rejects.toThrow(
    'the store was opened',
  );
});

test('an e-mail address is needed', async () => {
  expect((await refused())[0]).toBe(2);
});
