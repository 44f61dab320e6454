import type { UpstreamConfig } from '../../src/catalog/catalog.ts';
import { makeProvider } from '../../src/upstream/ai-sdk/provider-upstream.ts';
import type { Upstream } from '../../src/upstream/port.ts';
import { StrictAnthropic } from './anthropic.ts';
import { StrictAzure } from './azure.ts';
import { STRICT_AWS_ACCESS, StrictBedrock } from './bedrock.ts';
import { StrictCohere } from './cohere.ts';
import { StrictGemini } from './gemini.ts';
import { fieldsOf, type Fields, type StandIn } from './stand-in.ts';
import { STRICT_PROVIDERS } from './strict-providers.ts';
import { StrictServer } from './strict-server.ts';

/** A kind of upstream that is spoken to by a package of its own, with a stand-in for its provider. */
export interface SdkKind {
  readonly kind: string;
  readonly model: string;
  /** Another model, where the first does not think or see. */
  readonly thinker?: string;
  readonly seer?: string;
  /** Its thoughts are part of its answers. */
  readonly showsThoughts: boolean;
  /** The header with the key; absent where requests are signed. */
  readonly keyHeader?: string;
  readonly options?: Readonly<Record<string, string>>;
  open(): StandIn;
  cap(body: Fields): unknown;
}

const GPT = { 'gpt-4o-mini': 'gpt-4o-mini', 'gpt-5-mini': 'gpt-5-mini' };

export const SDK_KINDS: readonly SdkKind[] = [
  {
    kind: 'anthropic',
    model: 'claude-sonnet-4-5',
    showsThoughts: true,
    keyHeader: 'x-api-key',
    open: () => new StrictAnthropic(),
    cap: (body) => body['max_tokens'],
  },
  {
    kind: 'google',
    model: 'gemini-2.5-flash',
    showsThoughts: true,
    keyHeader: 'x-goog-api-key',
    open: () => new StrictGemini(),
    cap: (body) => fieldsOf(body['generationConfig'])['maxOutputTokens'],
  },
  {
    kind: 'bedrock',
    model: 'anthropic.claude-sonnet-4-20250514-v1:0',
    showsThoughts: true,
    options: bedrockOptions(),
    open: () => new StrictBedrock(),
    cap: (body) => fieldsOf(body['inferenceConfig'])['maxTokens'],
  },
  {
    kind: 'azure',
    model: 'gpt-4o-mini',
    thinker: 'gpt-5-mini',
    showsThoughts: false,
    keyHeader: 'api-key',
    open: () => new StrictAzure(GPT),
    cap: (body) => body['max_tokens'] ?? body['max_completion_tokens'],
  },
  {
    kind: 'mistral',
    model: 'mistral-large-latest',
    showsThoughts: false,
    keyHeader: 'authorization',
    open: () => new StrictServer(STRICT_PROVIDERS.find(({ preset }) => preset === 'mistral')!),
    cap: (body) => body['max_tokens'],
  },
  {
    kind: 'cohere',
    model: 'command-a-03-2025',
    thinker: 'command-a-reasoning-08-2025',
    seer: 'command-a-vision-07-2025',
    showsThoughts: true,
    keyHeader: 'authorization',
    open: () => new StrictCohere(),
    cap: (body) => body['max_tokens'],
  },
];

function bedrockOptions(): Record<string, string> {
  const { accessKeyId, secretAccessKey, region } = STRICT_AWS_ACCESS;
  return { region, access_key_id: accessKeyId, secret_access_key: secretAccessKey };
}

export function configFor(kind: SdkKind, { baseUrl, key }: StandIn): UpstreamConfig {
  return {
    name: `my-${kind.kind}`,
    kind: kind.kind,
    baseUrl,
    apiKey: kind.keyHeader === undefined ? undefined : key,
    headers: new Map([['x-operator', 'tollgate']]),
    timeouts: { firstByteMs: 5_000, idleMs: 5_000, totalMs: 10_000 },
    options: new Map(Object.entries(kind.options ?? {})),
  };
}

export function upstreamOf(kind: SdkKind, standIn: StandIn): Upstream {
  const upstream = makeProvider(configFor(kind, standIn));
  if (!upstream) throw new Error(`no provider ${kind.kind}`);
  return upstream;
}
