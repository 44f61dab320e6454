import type { UpstreamConfig } from '../../../catalog/catalog.ts';

/** What a kind needs to be called at all; what its provider answers is in `test/providers`. */
export interface TestedKind {
  readonly kind: string;
  readonly model: string;
  readonly options?: Readonly<Record<string, string>>;
  /** Of the request that verifies address and key. */
  readonly check: string;
  readonly key: { readonly header: string; readonly value: string };
}

const KEY = 'key-of-the-operator-0123456789';
const bearer = { header: 'authorization', value: `Bearer ${KEY}` };

export const TESTED_KINDS: readonly TestedKind[] = [
  {
    kind: 'anthropic',
    model: 'claude-sonnet-4-5',
    check: '/v1/models?limit=1',
    key: { header: 'x-api-key', value: KEY },
  },
  {
    kind: 'google',
    model: 'gemini-2.5-flash',
    check: '/v1beta/models?pageSize=1',
    key: { header: 'x-goog-api-key', value: KEY },
  },
  {
    kind: 'bedrock',
    model: 'anthropic.claude-sonnet-4-20250514-v1:0',
    options: { region: 'eu-west-1' },
    check: '/foundation-models',
    key: bearer,
  },
  { kind: 'azure', model: 'gpt-4.1', check: '/openai/v1/models', key: { header: 'api-key', value: KEY } },
  { kind: 'mistral', model: 'mistral-large-latest', check: '/v1/models', key: bearer },
  { kind: 'cohere', model: 'command-a-03-2025', check: '/v1/models?page_size=1', key: bearer },
];

export function testedConfig(kind: TestedKind, baseUrl: string): UpstreamConfig {
  return {
    name: `my-${kind.kind}`,
    kind: kind.kind,
    baseUrl,
    apiKey: KEY,
    headers: new Map(),
    timeouts: { firstByteMs: 5_000, idleMs: 5_000, totalMs: 10_000 },
    options: new Map(Object.entries(kind.options ?? {})),
  };
}

export function testedKind(name: string): TestedKind {
  const found = TESTED_KINDS.find(({ kind }) => kind === name);
  if (!found) throw new Error(`no kind ${name}`);
  return found;
}
