import type { JSONObject } from '@ai-sdk/provider';
import type { UpstreamConfig } from '../../catalog/catalog.ts';
import { signRequest } from './aws-signature.ts';
import { defined, isObject } from './json.ts';
import {
  baseUrl,
  type ProviderAccess,
  type ProviderLimits,
  type OutgoingRequest,
  type Provider,
} from './provider.ts';
import { fitThinking } from './thinking.ts';
import { canonicalUsage, count, countOrZero, sum } from './usage.ts';

/** Amazon Bedrock through its Converse API, with an API key or with the access key of an AWS user. */
export const bedrock: Provider = {
  kind: 'bedrock',
  framed: true,
  namespace: 'amazonBedrock',
  imageUrls: false,
  lateSystem: 'as_user',
  logitBias: false,
  toolHistoryNeedsTools: true,
  jsonObject: false,
  dimensionsOption: 'dimensions',
  problem,
  async open(access) {
    const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
    const { apiKey, headers, fetch, config } = access;
    // The package would sign before the body is final; it gets a placeholder key, and `authorize` replaces the header.
    const provider = createAmazonBedrock({
      region: regionOf(config),
      baseURL: addressOf(access),
      apiKey: apiKey || 'replaced-by-signature',
      headers,
      fetch,
    });
    return {
      chat: (model) => provider(model),
      image: (model) => provider.image(model),
      embedding: (model) => provider.embedding(model),
    };
  },
  usage: bedrockUsage,
  check: (access) => ({
    url: `${baseUrl(access.config, `https://bedrock.${regionOf(access.config)}.amazonaws.com`)}/foundation-models`,
    headers: { ...(access.apiKey && { authorization: `Bearer ${access.apiKey}` }), ...access.headers },
  }),
  cacheOptions: () => ({ cachePoint: { type: 'default' } }),
  fit,
  authorize,
  images: {
    shape: ({ size }) => ({ size: size as `${number}x${number}` }),
    options: ({ quality, style }) => defined({ quality, style }),
  },
};

/** Cache reads and writes are counted beside `inputTokens`. */
export function bedrockUsage(raw: unknown) {
  const cached = countOrZero(raw, 'cacheReadInputTokens');
  return canonicalUsage({
    input: sum(count(raw, 'inputTokens'), countOrZero(raw, 'cacheWriteInputTokens'), cached),
    cached,
    output: count(raw, 'outputTokens'),
  });
}

function fit(body: JSONObject, limits: ProviderLimits): JSONObject {
  const { inferenceConfig, additionalModelRequestFields, ...rest } = body;
  // Image requests have neither.
  if (!isObject(inferenceConfig) && limits.maxTokens === undefined) return body;
  const inference = isObject(inferenceConfig) ? inferenceConfig : {};
  const asked = typeof inference.maxTokens === 'number' ? inference.maxTokens : Infinity;
  const maxTokens = Math.min(asked, limits.maxTokens ?? Infinity);
  const extra = isObject(additionalModelRequestFields) ? fitExtra(additionalModelRequestFields, limits) : {};
  return {
    ...rest,
    inferenceConfig: { ...inference, ...(Number.isFinite(maxTokens) && { maxTokens }) },
    ...(Object.keys(extra).length > 0 && { additionalModelRequestFields: extra }),
  };
}

function fitExtra(fields: JSONObject, limits: ProviderLimits): JSONObject {
  const { thinking, reasoningConfig, ...rest } = fields;
  const fitted = fitThinking(thinking, limits);
  return {
    ...rest,
    ...(fitted && { thinking: fitted }),
    ...(isObject(reasoningConfig) && {
      reasoningConfig: { ...reasoningConfig, ...cappedEffort(reasoningConfig) },
    }),
  };
}

/** Nova refuses a cap together with its highest effort. The hold depends on the cap, so the effort is lowered. */
function cappedEffort({ maxReasoningEffort }: JSONObject): JSONObject {
  return maxReasoningEffort === 'low' || maxReasoningEffort === undefined
    ? {}
    : { maxReasoningEffort: 'medium' };
}

async function authorize(
  request: OutgoingRequest,
  config: UpstreamConfig,
  now: Date,
): Promise<Record<string, string>> {
  if (config.apiKey) return {};
  return await signRequest(request, {
    accessKeyId: config.options.get('access_key_id') ?? '',
    secretAccessKey: config.options.get('secret_access_key') ?? '',
    sessionToken: config.options.get('session_token'),
    region: regionOf(config),
    service: 'bedrock',
    now,
  });
}

function problem(config: UpstreamConfig): string | undefined {
  if (!config.options.get('region') && !config.baseUrl) return 'options.region is not set';
  if (config.apiKey || (config.options.get('access_key_id') && config.options.get('secret_access_key')))
    return undefined;
  return 'api_key, or options.access_key_id with options.secret_access_key, is not set';
}

function regionOf(config: UpstreamConfig): string {
  return config.options.get('region') ?? 'us-east-1';
}

function addressOf({ config }: ProviderAccess): string {
  return baseUrl(config);
}
