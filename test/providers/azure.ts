import { chatModel, chatRefusal } from './openai-rules.ts';
import { openAiError, openAiWire } from './openai-wire.ts';
import { StandIn, type ProviderWire, type Refusal, type StandInCall } from './stand-in.ts';

/**
 * OpenAI's models in an Azure resource over real HTTP: under the address of a deployment with a dated version, or under
 * `/openai/v1`. Fields are those of OpenAI
 * (https://learn.microsoft.com/en-us/azure/ai-foundry/openai/reference), which is from general knowledge and unverified. The
 * stable version is one of specification/cognitiveservices/data-plane/AzureOpenAI/inference/stable
 * (https://github.com/Azure/azure-rest-api-specs).
 */
export class StrictAzure extends StandIn {
  /** `deployments`: the resource has no other models. */
  constructor(deployments: Readonly<Record<string, string>>) {
    super(WIRE, deployments);
  }
}

const DEPLOYMENT = /^\/openai\/deployments\/([^/]+)\/chat\/completions$/;
const VERSIONS = new Set(['2024-10-21', '2025-04-01-preview']);
const FILTERS = { hate: { filtered: false, severity: 'safe' } };

const CHAT = openAiWire({
  path: '',
  reasoningTokens: 48,
  answers: {
    usage: 'if_asked',
    more: {
      system_fingerprint: 'fp_ee1d74bde0',
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: FILTERS }],
    },
  },
  thinks: ({ model }) => chatModel(model)?.reasoning === true,
  refusal: ({ body, model }) =>
    chatModel(model)
      ? chatRefusal({ ...body, model })
      : {
          status: 404,
          code: 'DeploymentNotFound',
          message: 'The API deployment for this resource does not exist.',
        },
  error: openAiError,
});

const WIRE: ProviderWire = {
  ...CHAT,
  model: (url) => {
    const name = DEPLOYMENT.exec(url.pathname)?.[1];
    return name === undefined ? undefined : decodeURIComponent(name);
  },
  entrance,
};

function entrance({ request, url, key }: StandInCall): Refusal | undefined {
  if (request.headers.get('api-key') !== key)
    return { status: 401, code: '401', message: 'Access denied due to invalid subscription key.' };
  const version = url.searchParams.get('api-version') ?? 'v1';
  const isDeployment = DEPLOYMENT.test(url.pathname) && VERSIONS.has(version);
  const isNew = url.pathname === '/openai/v1/chat/completions' && ['v1', 'preview'].includes(version);
  return isDeployment || isNew ? undefined : { status: 404, code: '404', message: 'Resource not found' };
}
