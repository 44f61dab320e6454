import type { CatalogSource } from '../catalog/catalog.ts';
import { randomPart } from '../std/ids.ts';
import type { Telemetry } from '../telemetry/open-telemetry.ts';
import { version } from '../../package.json' with { type: 'json' };
import type { Services } from './services.ts';

/** Absent unless it is configured; then nothing of OpenTelemetry is loaded either. */
export async function composeTelemetry(
  { config: { telemetry: settings }, clock, log }: Services,
  catalog: Pick<CatalogSource, 'current'>,
  opened: AsyncDisposableStack,
): Promise<Telemetry | undefined> {
  if (!settings) return undefined;
  const { openTelemetry } = await import('../telemetry/open-telemetry.ts');
  const telemetry = await openTelemetry({
    settings,
    version,
    instance: randomPart(INSTANCE_CHARACTERS),
    now: () => clock.now(),
    log,
    operationOf: (endpoint) => {
      const type = catalog.current().endpoints.get(endpoint)?.type;
      return type && OPERATIONS[type];
    },
    providerOf: (upstream) => {
      const config = catalog.current().upstreams.get(upstream);
      const provider = config?.preset ?? config?.kind;
      return provider && (PROVIDERS[provider] ?? provider);
    },
  });
  opened.defer(() => telemetry.close());
  return telemetry;
}

const INSTANCE_CHARACTERS = 16;

/** `gen_ai.operation.name`; there is none for images and moderation yet. */
const OPERATIONS = {
  chat_completion: 'chat',
  image_generation: 'image_generation',
  embedding: 'embeddings',
  moderation: 'moderation',
} as const;

/** `gen_ai.provider.name` where it differs from our name of a preset or kind. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
  house: 'tollgate',
};
