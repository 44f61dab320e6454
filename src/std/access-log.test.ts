import { expect, test } from 'bun:test';
import { AccessLog, loggedPath } from './access-log.ts';
import { newRequestId } from './ids.ts';
import type { Log } from './log.ts';
import type { RequestRecord } from './request-record.ts';

const STARTED_AT = 1_700_000_000_000;
const ANSWER = { method: 'POST', path: '/v1/chat/completions', status: 200, address: '127.0.0.1' };

function requestRecord(): RequestRecord {
  return {
    requestId: newRequestId(STARTED_AT),
    clientRequestId: undefined,
    trace: undefined,
    account: 'acc_1',
    endpoint: 'svc_chat',
    model: 'm',
    upstream: 'b0',
    isHeld: false,
    end: undefined,
    onEnd: undefined,
  };
}

/** A log whose reader can be stopped. */
function open(share: number, random?: () => number) {
  const lines: Record<string, unknown>[] = [];
  const warnings: unknown[] = [];
  const reader = { waits: Promise.resolve(), writes: 0 };
  const log = {
    warn: (event: string, fields: unknown) => void warnings.push([event, fields]),
    lines: async (text: string) => {
      reader.writes++;
      await reader.waits;
      lines.push(...text.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>));
    },
  } as Log;
  const accessLog = new AccessLog({ log, now: () => STARTED_AT + 25, ...(random && { random }) });
  accessLog.setShare(share);
  return { accessLog, lines, warnings, reader };
}

test('an answered request leaves one line, which is made after the answer', async () => {
  const { accessLog, lines } = open(1);
  const one = requestRecord();
  accessLog.answered(one, ANSWER);
  expect(lines).toEqual([]);
  await accessLog.written();
  expect(lines).toEqual([
    {
      time: '2023-11-14T22:13:20.025Z',
      level: 'info',
      event: 'request',
      request: one.requestId,
      account: 'acc_1',
      endpoint: 'svc_chat',
      model: 'm',
      backend: 'b0',
      ...ANSWER,
      duration_ms: 25,
    },
  ]);
});

test('the line of a stream waits for its end, and has what it used', async () => {
  const { accessLog, lines } = open(1);
  const one = { ...requestRecord(), isHeld: true };
  accessLog.answered(one, ANSWER);
  await accessLog.written();
  expect(lines).toEqual([]);
  one.end = {
    endpoint: 'svc_chat',
    model: 'm',
    ending: { outcome: 'completed', upstream: 'b1', attempts: [], durationMs: 20, firstByteMs: 5 },
    usage: { input: 10, cached: 0, output: 3, reasoning: 0, images: 0 },
    charged: 16_000,
  };
  one.onEnd?.();
  await accessLog.written();
  expect(lines).toMatchObject([
    {
      backend: 'b1',
      outcome: 'completed',
      first_byte_ms: 5,
      input_tokens: 10,
      output_tokens: 3,
      charged_usd: '0.000016',
    },
  ]);
});

test('a share of the requests is logged, and none when it is off', async () => {
  const draws = [0.1, 0.3, 0.29, 0.9];
  const { accessLog, lines } = open(0.3, () => draws.shift() ?? 1);
  for (let n = 0; n < 4; n++) accessLog.answered(requestRecord(), ANSWER);
  await accessLog.written();
  expect(lines).toHaveLength(2);
  accessLog.setShare(0);
  expect(accessLog.isOn).toBe(false);
});

test('a log that nobody reads keeps a bounded number of lines, and says how many were dropped', async () => {
  const { accessLog, lines, warnings, reader } = open(1);
  const resumed = Promise.withResolvers<void>();
  reader.waits = resumed.promise;
  accessLog.answered(requestRecord(), ANSWER);
  while (reader.writes === 0) await Bun.sleep(5);
  for (let n = 0; n < 10_500; n++) accessLog.answered(requestRecord(), ANSWER);
  expect(reader.writes).toBe(1);
  resumed.resolve();
  await accessLog.written();
  expect(lines).toHaveLength(10_001);
  expect(warnings).toEqual([['access_lines_dropped', { lines: 500 }]]);
});

test('a token in an id that the client made up is redacted', async () => {
  const { accessLog, lines } = open(1);
  accessLog.answered({ ...requestRecord(), clientRequestId: 'sk-abcdefghijklmnop' }, ANSWER);
  await accessLog.written();
  expect(lines[0]?.['client_request']).toBe('sk-‹redacted›');
});

test.each([
  ['/app/requests', '/app/requests'],
  ['/setup/Zk3x9QpL2mVb7TnR', '/setup/*'],
  ['/api/console/admin/accounts/acc_0123/credit', '/api/console/admin/accounts/*/credit'],
  ['/v1/unknown', '/v1/unknown'],
  ['/a/b/c/d/e/f/g/h', '/a/b/c/d/e/f'],
])('of the path %s is logged what cannot be a secret', (path, logged) => {
  expect(loggedPath(path)).toBe(logged);
});
