import { StrictAnthropic } from '../providers/anthropic.ts';
import { StrictAzure } from '../providers/azure.ts';
import { StrictBedrock } from '../providers/bedrock.ts';
import { StrictCohere } from '../providers/cohere.ts';
import { StrictGemini } from '../providers/gemini.ts';
import { StrictOpenAi } from '../providers/openai.ts';
import type { StandIn } from '../providers/stand-in.ts';
import { STRICT_PROVIDERS } from '../providers/strict-providers.ts';
import { StrictServer, type StrictProvider } from '../providers/strict-server.ts';

type Names = Readonly<Record<string, string>>;

export interface MatrixModel {
  readonly name: string;
  /** What an operator would write into the catalog. */
  readonly maxOutput: number;
}

/** A provider of the matrix: its stand-in, the models that serve each kind of request, and how a catalog names it. */
export interface MatrixProvider {
  readonly name: string;
  readonly title: string;
  readonly plain: MatrixModel;
  readonly seeing: MatrixModel;
  readonly thinking: MatrixModel;
  /** Its thoughts reach the client. */
  readonly showsThoughts: boolean;
  start(deployments: Names): StandIn;
  /** The upstream's entry but for the address. */
  readonly entry: string;
}

const KEY = 'api_key: "${KEY}"';

function compatible(provider: StrictProvider): MatrixProvider {
  const models = Object.entries(provider.models).map(([name, model]) => ({ ...model, name }));
  const plain = models[0]!;
  return {
    name: provider.preset,
    title: provider.preset,
    plain,
    seeing: plain,
    thinking: models.find(({ thinks }) => thinks) ?? plain,
    showsThoughts: provider.reasoning !== undefined,
    start: (deployments) => new StrictServer(provider, deployments),
    entry: `kind: openai, preset: ${provider.preset}, ${KEY}`,
  };
}

const GPT = { name: 'gpt-4o-mini', maxOutput: 16_384 };
const GPT_5 = { name: 'gpt-5-mini', maxOutput: 128_000 };
const CLAUDE = { name: 'claude-sonnet-4-5', maxOutput: 64_000 };
const BEDROCK_CLAUDE = { name: 'anthropic.claude-sonnet-4-20250514-v1:0', maxOutput: 64_000 };

const MISTRAL = compatible(STRICT_PROVIDERS.find(({ preset }) => preset === 'mistral')!);

const NATIVE: readonly MatrixProvider[] = [
  {
    name: 'openai',
    title: 'openai',
    plain: GPT,
    seeing: GPT,
    thinking: GPT_5,
    showsThoughts: false,
    start: (deployments) => new StrictOpenAi(deployments),
    entry: `kind: openai, ${KEY}`,
  },
  {
    name: 'anthropic',
    title: 'kind: anthropic',
    plain: { name: 'claude-3-5-haiku-20241022', maxOutput: 8_192 },
    seeing: CLAUDE,
    thinking: CLAUDE,
    showsThoughts: true,
    start: (deployments) => new StrictAnthropic(deployments),
    entry: `kind: anthropic, ${KEY}`,
  },
  {
    name: 'google',
    title: 'kind: google',
    plain: { name: 'gemini-2.0-flash', maxOutput: 8_192 },
    seeing: { name: 'gemini-2.0-flash', maxOutput: 8_192 },
    thinking: { name: 'gemini-2.5-flash', maxOutput: 65_536 },
    showsThoughts: true,
    start: (deployments) => new StrictGemini(deployments),
    entry: `kind: google, ${KEY}`,
  },
  {
    name: 'azure',
    title: 'kind: azure',
    plain: GPT,
    seeing: GPT,
    thinking: GPT_5,
    showsThoughts: false,
    start: (deployments) => new StrictAzure(deployments),
    entry: `kind: azure, ${KEY}, options: { deployment_urls: "true", api_version: "2024-10-21" }`,
  },
  {
    name: 'bedrock',
    title: 'kind: bedrock',
    plain: { name: 'anthropic.claude-3-5-haiku-20241022-v1:0', maxOutput: 8_192 },
    seeing: BEDROCK_CLAUDE,
    thinking: BEDROCK_CLAUDE,
    showsThoughts: true,
    start: (deployments) => new StrictBedrock(deployments),
    entry:
      'kind: bedrock, options: { region: eu-west-1, access_key_id: "${AWS_KEY_ID}", secret_access_key: "${AWS_SECRET}" }',
  },
  {
    name: 'cohere',
    title: 'kind: cohere',
    plain: { name: 'command-a-03-2025', maxOutput: 8_000 },
    seeing: { name: 'command-a-vision-07-2025', maxOutput: 8_000 },
    thinking: { name: 'command-a-reasoning-08-2025', maxOutput: 32_000 },
    showsThoughts: true,
    start: (deployments) => new StrictCohere(deployments),
    entry: `kind: cohere, ${KEY}`,
  },
  // The same provider as the preset, spoken to by its own package.
  { ...MISTRAL, name: 'mistral_kind', title: 'kind: mistral', entry: `kind: mistral, ${KEY}` },
];

export const MATRIX_PROVIDERS: readonly MatrixProvider[] = [...NATIVE, ...STRICT_PROVIDERS.map(compatible)];
