import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { certificateFor } from '../support/certificate.ts';
import { METRICS_TOKEN } from '../support/leaks.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';

/** What is wrong with a set-up is said by `tollgate doctor`, in the log at the start, and by a metric. */

const DAY_MS = 86_400_000;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-setup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function certificateUntil(endsAt: number): Promise<string> {
  const { cert, key } = await certificateFor('127.0.0.1', { from: endsAt - 90 * DAY_MS, until: endsAt });
  const name = join(folder, `until-${endsAt}`);
  writeFileSync(`${name}.pem`, cert);
  writeFileSync(`${name}-key.pem`, key);
  return `tls: { cert: ${name}.pem, key: ${name}-key.pem }\n`;
}

/** A port on which nothing listens. */
function closedPort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

const CATALOG = `
upstreams: { house: { kind: house } }
lists: { l: [ { model: house-echo, free: true } ] }
endpoints: { c: { name: c, type: chat_completion, lists: [l], upstreams: [house] } }
`;

interface Said {
  readonly code: number;
  readonly failed: string[];
  readonly log: string;
  readonly metrics: string;
}

/** The problems that doctor and the server name for the same set-up; `count`: how many the server will log. */
async function problemsOf(yaml: string, env: Record<string, string>, count: number): Promise<Said> {
  const node = await NodeProcess.start({ yaml: CATALOG + yaml, env });
  try {
    const logged = (): number => node.log.split('"event":"setup_problem"').length - 1;
    await eventually(`${count} problems are in the log`, () => logged() >= count);
    const { code, output } = await node.cli('doctor', '--json');
    const { checks } = JSON.parse(output.split('\n')[0] ?? '') as {
      checks: { result: string; text: string }[];
    };
    const metrics = await fetch(`${node.url}/metrics`, {
      headers: { authorization: `Bearer ${METRICS_TOKEN}` },
      tls: { rejectUnauthorized: false },
    });
    const failed = checks.filter(({ result }) => result === 'failed').map(({ text }) => text);
    return { code, failed, log: node.log, metrics: await metrics.text() };
  } finally {
    await node.stop();
  }
}

describe('a server without TLS that is set up wrongly', () => {
  let said: Said;
  beforeAll(async () => {
    said = await problemsOf(
      '',
      {
        TOLLGATE_HOST: '0.0.0.0',
        TOLLGATE_PUBLIC_URL: 'https://gate.invalid',
        TOLLGATE_PUBLC_URL: 'https://gate.example.com',
        TOLLGATE_STRIPE_SECRET_KEY: 'sk_test_nobody',
        TOLLGATE_STRIPE_WEBHOOK_SECRET: 'whsec_nobody',
        TOLLGATE_STRIPE_ADDRESS: `http://127.0.0.1:${closedPort()}`,
      },
      4,
    );
  }, 60_000);

  test.each([
    ['settings', 'TOLLGATE_PUBLC_URL (TOLLGATE_PUBLIC_URL?)'],
    ['listening', '0.0.0.0 without TLS and without a trusted proxy'],
    ['public_address', 'gate.invalid of TOLLGATE_PUBLIC_URL cannot be resolved'],
    ['payments', 'http://127.0.0.1:'],
  ])('%s is named by doctor, the log and the metric', (check, text) => {
    expect(said.failed.filter((one) => one.includes(text))).toHaveLength(1);
    expect(said.log).toContain(`"check":"${check}"`);
    expect(said.metrics).toContain(`tollgate_setup_problem{check="${check}"} 1`);
  });

  test('doctor exits with 1, and what is right is no problem', () => {
    expect(said.code).toBe(1);
    expect(said.metrics).toContain('tollgate_setup_problem{check="data_folder"} 0');
    expect(said.metrics).toContain('tollgate_setup_problem{check="certificate"} 0');
  });
});

test.each([
  ['has expired', -1],
  ['ends on', 13],
])(
  'a certificate that %s is named by doctor, the log and the metric',
  async (text, days) => {
    const yaml = await certificateUntil(Date.now() + days * DAY_MS + 60_000);
    const said = await problemsOf(yaml, {}, 1);
    expect(said.code).toBe(1);
    expect(said.failed).toEqual([expect.stringContaining(text)]);
    expect(said.log).toContain('"check":"certificate"');
    expect(said.metrics).toContain('tollgate_setup_problem{check="certificate"} 1');
  },
  60_000,
);

test('a certificate with more than 14 days left is no problem', async () => {
  const said = await problemsOf(await certificateUntil(Date.now() + 15 * DAY_MS), {}, 0);
  expect({ code: said.code, failed: said.failed }).toEqual({ code: 0, failed: [] });
  expect(said.log).not.toContain('setup_problem');
}, 60_000);
