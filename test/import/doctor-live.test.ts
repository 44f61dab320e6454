import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseUsd } from '../../src/std/money.ts';
import { StrictOpenAi } from '../providers/openai.ts';
import { STRICT_PROVIDERS } from '../providers/strict-providers.ts';
import { StrictServer } from '../providers/strict-server.ts';
import { runCommand } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-live-'));
const path = join(folder, 'tollgate.yaml');
const openai = new StrictOpenAi();
const groqRules = STRICT_PROVIDERS.find(({ preset }) => preset === 'groq')!;
const groq = new StrictServer(groqRules, { m: Object.keys(groqRules.models)[0]! });
const env = { OPENAI_API_KEY: openai.key, GROQ_API_KEY: groq.key };

beforeAll(() => {
  writeFileSync(
    path,
    `upstreams:
  openai: { kind: openai, preset: openai, base_url: "${openai.baseUrl}" }
  groq: { kind: openai, preset: groq, base_url: "${groq.baseUrl}" }
lists:
  dear: [{ model: gpt-6-luna, input: 5, output: 40, context: 200000, vision: true, tools: true, reasoning: hidden }]
  cheap: [{ model: gpt-5-mini, input: 0.5, output: 4, context: 200000, vision: true, tools: true, reasoning: hidden, inputs: { image: { max_tokens: 3000 } }, cost: { openai: { input: 0.25, output: 2 } } }]
  painters: [{ model: gpt-image-1-mini, image: 0.02, sizes: [1024x1024] }]
  words: [{ model: m, input: 1, output: 2, context: 8000, max_output: 500 }]
endpoints:
  chat: { name: chat, type: chat_completion, lists: [dear, cheap], upstreams: [openai] }
  paint: { name: paint, type: image_generation, lists: [painters], upstreams: [openai] }
  fast: { name: fast, type: chat_completion, lists: [words], upstreams: [groq] }
`,
  );
});
afterAll(async () => {
  await openai.stop();
  await groq.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Check {
  readonly check: string;
  readonly model: string | null;
  readonly result: string;
  readonly reason: string | null;
  readonly held_usd: string;
  readonly cost_usd: string;
  readonly reported_usage: {
    readonly input: number;
    readonly output: number;
    readonly images: number;
  } | null;
}

async function live(
  ...words: string[]
): Promise<{ code: number; spent: number; checks: Check[]; text: string }> {
  const { code, lines } = await runCommand(['doctor', '--live', ...words, '--json'], { env, path });
  const text = lines.join('\n');
  const { backends, spent_usd: spent } = JSON.parse(text);
  const checks = backends.flatMap((one: { checks: Check[] }) => one.checks);
  return { code, checks, text, spent: parseUsd(spent) ?? -1 };
}

const nano = (usd: string): number => parseUsd(usd) ?? -1;

describe('a live check', () => {
  test('asks for six things with the cheapest model, and shows each cost as the provider bills it', async () => {
    openai.invoice.length = 0;
    const { code, checks, spent, text } = await live('openai');
    expect(checks.map(({ check, model }) => [check, model])).toEqual([
      ['chat', 'gpt-5-mini'],
      ['stream', 'gpt-5-mini'],
      ['tools', 'gpt-5-mini'],
      ['json schema', 'gpt-5-mini'],
      ['image in', 'gpt-5-mini'],
      ['image out', 'gpt-image-1-mini'],
    ]);
    expect(code).toBe(0);
    for (const check of checks) expect(check).toMatchObject({ result: 'passed', reason: null });
    expect(openai.invoice).toHaveLength(checks.length);
    let billed = 0;
    for (const [index, bill] of openai.invoice.entries()) {
      // What the provider takes, which the catalog names: 0.25 and 2 dollars per million, 0.02 dollars an image.
      const cost = bill.kind === 'images' ? 20_000_000 : bill.input * 250 + bill.output * 2_000;
      billed += cost;
      const check = checks[index]!;
      expect({ check: check.check, cost: nano(check.cost_usd) }).toEqual({ check: check.check, cost });
      expect(nano(check.cost_usd)).toBeLessThanOrEqual(nano(check.held_usd));
      if (bill.kind === 'chat')
        expect(check.reported_usage).toMatchObject({ input: bill.input, output: bill.output });
    }
    expect(spent).toBe(billed);
    expect(text).not.toContain(openai.key);
  });

  test('sends nothing that could cost more than is left of the cap', async () => {
    openai.received.length = 0;
    openai.invoice.length = 0;
    const nothing = await live('openai', '--max-usd', '0.000001');
    expect([nothing.code, nothing.spent, openai.received.length]).toEqual([1, 0, 0]);
    expect(nothing.checks.every(({ result }) => result === 'skipped')).toBe(true);
    for (const most of ['0.005', '0.009', '0.015']) {
      openai.invoice.length = 0;
      const { spent, checks } = await live('openai', '--max-usd', most);
      const billed = openai.invoice.reduce(
        (sum, bill) => sum + (bill.kind === 'images' ? 20_000_000 : bill.input * 250 + bill.output * 2_000),
        0,
      );
      expect(spent).toBe(billed);
      expect(billed).toBeLessThanOrEqual(nano(most));
      // Some of them fit, and some do not.
      expect(new Set(checks.map(({ result }) => result)).has('skipped')).toBe(true);
      expect(openai.invoice.length).toBeGreaterThan(0);
    }
  });

  test('says what a backend is not sold for, and writes a table', async () => {
    const { code, lines } = await runCommand(['doctor', '--live', 'groq'], { env, path });
    const text = lines.join('\n');
    expect(code).toBe(0);
    expect(text).toContain('backend groq');
    expect(text).toMatch(/chat +m +✓ passed +\$\S+ +\$\S+ +\d+ in, \d+ out/);
    expect(text).toContain('image out: no model of this backend is sold for images');
    expect(lines.at(-1)).toMatch(/^spent \$0\.\d+ of at most \$0\.05$/);
  });

  test('ends with 1 where a backend refuses, which costs nothing, and tells why', async () => {
    const bad = await runCommand(['doctor', '--live', 'groq', '--json'], {
      env: { ...env, GROQ_API_KEY: 'sk-wrong' },
      path,
    });
    expect(bad.code).toBe(1);
    const { spent_usd: spent, backends } = JSON.parse(bad.lines.join('\n'));
    expect(spent).toBe('0.00');
    expect(backends[0].checks[0]).toMatchObject({ result: 'failed', reason: expect.stringContaining('401') });
  });

  test.each(['--max-usd=0', '--max-usd=much', 'nobody'])('refuses %s with 2', async (word) => {
    const { code } = await runCommand(['doctor', '--live', word], { env, path });
    expect(code).toBe(2);
  });
});
