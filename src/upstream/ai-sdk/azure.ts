import type { JSONObject } from '@ai-sdk/provider';
import { defaultAddress } from '../../catalog/address.ts';
import type { RequestForm, UpstreamConfig } from '../../catalog/catalog.ts';
import type { ChatRequest } from '../../wire/openai/chat.ts';
import type { ImageRequest } from '../../wire/openai/images.ts';
import { defined, isObject } from './json.ts';
import { openAiUsage } from './usage.ts';
import { baseUrl, needsKey, strictSchema, type Provider, type ProviderAccess } from './provider.ts';

/** OpenAI's models in a Microsoft Azure resource; the model is the name of the deployment. */
export const azure: Provider = {
  kind: 'azure',
  namespace: 'openai',
  imageUrls: true,
  lateSystem: 'kept',
  logitBias: true,
  dimensionsOption: 'dimensions',
  problem: (config) => needsKey(config) ?? needsResource(config),
  async open(access) {
    const { createAzure } = await import('@ai-sdk/azure');
    const { apiKey, headers, fetch, config } = access;
    const provider = createAzure({
      baseURL: addressOf(access),
      apiKey,
      headers,
      fetch,
      apiVersion: versionOf(config),
      useDeploymentBasedUrls: byDeployment(config),
    });
    return {
      chat: (model) => provider.chat(model),
      image: (model) => provider.image(model),
      embedding: (model) => provider.embedding(model),
    };
  },
  usage: openAiUsage,
  check(access) {
    const query = byDeployment(access.config) ? `?api-version=${versionOf(access.config)}` : '';
    return {
      url: `${addressOf(access)}/models${query}`,
      headers: { 'api-key': access.apiKey, ...access.headers },
    };
  },
  requestOptions,
  fit: (body, { form = {} }) =>
    typeof body.prompt === 'string' ? imageBody(body, form) : withOneCap(body, form),
  images: {
    shape: ({ size }) => ({ size: size as `${number}x${number}` }),
    options: imageOptions,
  },
};

function requestOptions(request: ChatRequest) {
  const {
    max_completion_tokens,
    logit_bias,
    metadata,
    parallel_tool_calls,
    prompt_cache_key,
    user,
    verbosity,
  } = request;
  return defined({
    ...strictSchema(request),
    // Reasoning models accept only this name of the cap, and a deployment's name does not tell which model it runs.
    ...(max_completion_tokens !== undefined && { maxCompletionTokens: max_completion_tokens }),
    ...(isObject(logit_bias) && { logitBias: logit_bias }),
    ...(isObject(metadata) && { metadata }),
    ...(typeof parallel_tool_calls === 'boolean' && { parallelToolCalls: parallel_tool_calls }),
    ...(typeof prompt_cache_key === 'string' && { promptCacheKey: prompt_cache_key }),
    ...(user !== undefined && { user }),
    ...(typeof verbosity === 'string' && { textVerbosity: verbosity }),
  });
}

/** The package sends the cap under both names, and the backend accepts only one. */
function withOneCap(body: JSONObject, { capField }: RequestForm): JSONObject {
  const { max_tokens: older, max_completion_tokens: newer, ...rest } = body;
  const cap = newer ?? older;
  if (cap === undefined) return body;
  return { ...rest, [capField ?? (newer === undefined ? 'max_tokens' : 'max_completion_tokens')]: cap };
}

/** The package decides by the deployment's name, which need not tell which model it runs. */
function imageBody(body: JSONObject, { imageFormat = 'b64_json' }: RequestForm): JSONObject {
  const { response_format: _, ...rest } = body;
  return imageFormat === 'default' ? rest : { ...rest, response_format: imageFormat };
}

function imageOptions({ quality, style, background, output_format, user }: ImageRequest) {
  return defined({ quality, style, background, outputFormat: output_format, user });
}

function needsResource(config: UpstreamConfig): string | undefined {
  return config.baseUrl || config.options.get('resource')
    ? undefined
    : 'base_url or options.resource is not set';
}

/** The older address format, with the deployment in the path and a dated version in the query. */
function byDeployment(config: UpstreamConfig): boolean {
  return config.options.get('deployment_urls') === 'true';
}

function versionOf(config: UpstreamConfig): string {
  return config.options.get('api_version') ?? (byDeployment(config) ? '2024-10-21' : 'v1');
}

function addressOf({ config }: ProviderAccess): string {
  return baseUrl(config, `${defaultAddress(config)}/openai${byDeployment(config) ? '' : '/v1'}`);
}
