import type { CapField, ImageFormat } from './catalog.ts';
import type { ImageDialect } from './catalog-data.ts';

/**
 * A provider that speaks OpenAI's API, as data: what an operator would otherwise have to write, or find out by its
 * refusals. An upstream names it with `preset`; whatever the upstream says itself goes first.
 *
 * `source` is where to look it up. The pages of Groq and Cerebras, the files of LiteLLM's, and the sources and schemas that
 * the strict stand-ins in `test/providers` name were read for this; the entries of OpenAI, DeepSeek and LM Studio are from
 * general knowledge, and unverified.
 */
export interface Preset {
  readonly title: string;
  readonly baseUrl: string;
  /** The provider's own name of the environment variable with the key; absent for servers that need none. */
  readonly variable?: string;
  /** The name under which the output cap goes out; absent: by the model's name. */
  readonly capField?: CapField;
  /** False: it does not know `stream_options`. */
  readonly streamUsage?: false;
  readonly imageFormat?: ImageFormat;
  readonly images?: ImageDialect;
  /** The largest output cap of a request that is not a stream; a larger one goes out as this. */
  readonly wholeCap?: number;
  /**
   * Fields of OpenAI's that it refuses, or ignores although they change the answer. A request with one of them is
   * refused; a value that asks for nothing, and hints that change no answer, are left out.
   */
  readonly unsupported?: readonly string[];
  /** The field of its answers with the model's thoughts. */
  readonly reasoning?: string;
  /** False: it has no `GET /models`. */
  readonly listsModels?: false;
  readonly notes?: string;
  readonly source: string;
}

/** Hints of OpenAI's about who asks and what is kept, which few others know; they are left out. */
const KEPT_HINTS = ['store', 'metadata', 'prompt_cache_key', 'safety_identifier'] as const;

const LITELLM = 'https://github.com/BerriAI/litellm/blob/main/litellm';

const CLOUD = {
  openai: {
    title: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    variable: 'OPENAI_API_KEY',
    notes:
      'GPT-5 and later and the o-series take `max_completion_tokens` alone; GPT image models take no `response_format`.',
    source: 'https://developers.openai.com/api/reference',
  },
  openrouter: {
    title: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    variable: 'OPENROUTER_API_KEY',
    capField: 'max_tokens',
    unsupported: ['store', 'safety_identifier'],
    reasoning: 'reasoning',
    notes:
      'Sends comments while it waits, says which company served a request and what that cost; customers see neither.',
    source: 'https://openrouter.ai/docs/api/reference/parameters',
  },
  groq: {
    title: 'Groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    variable: 'GROQ_API_KEY',
    capField: 'max_completion_tokens',
    unsupported: ['logprobs', 'logit_bias', 'top_logprobs', ...KEPT_HINTS],
    reasoning: 'reasoning',
    notes: '`n` must be 1, and messages must have no `name`; usage is also in `x_groq`.',
    source: 'https://console.groq.com/docs/openai',
  },
  deepseek: {
    title: 'DeepSeek',
    baseUrl: 'https://api.deepseek.com/v1',
    variable: 'DEEPSEEK_API_KEY',
    capField: 'max_tokens',
    unsupported: ['user', ...KEPT_HINTS],
    reasoning: 'reasoning_content',
    notes: 'Content must be text, not parts.',
    source: 'https://api-docs.deepseek.com/api/create-chat-completion',
  },
  mistral: {
    title: 'Mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    variable: 'MISTRAL_API_KEY',
    capField: 'max_tokens',
    streamUsage: false,
    unsupported: [
      'logit_bias',
      'logprobs',
      'top_logprobs',
      'service_tier',
      'user',
      'store',
      'safety_identifier',
    ],
    notes:
      'Refuses every field that it does not know with 422 `extra_forbidden`; a stream always ends with its usage. `kind: mistral` is the other way to it.',
    source: 'https://github.com/mistralai/client-python',
  },
  xai: {
    title: 'xAI',
    baseUrl: 'https://api.x.ai/v1',
    variable: 'XAI_API_KEY',
    capField: 'max_tokens',
    unsupported: KEPT_HINTS,
    reasoning: 'reasoning_content',
    // https://docs.x.ai/docs/api-reference#image-generations, https://docs.x.ai/docs/guides/image-generations
    images: {
      size: 'aspect_ratio',
      ratios: [
        '1:1',
        '3:4',
        '4:3',
        '9:16',
        '16:9',
        '2:3',
        '3:2',
        '9:19.5',
        '19.5:9',
        '9:20',
        '20:9',
        '1:2',
        '2:1',
      ],
      inline: 'b64_json',
      edits: 'objects',
      outputFormats: [],
      fields: ['user', 'quality', 'resolution'],
    },
    notes:
      'Models that think refuse `presence_penalty`, `frequency_penalty` and `stop`. Images by the nearest ratio, not by size.',
    source: `${LITELLM}/llms/xai/chat/transformation.py`,
  },
  together: {
    title: 'Together AI',
    baseUrl: 'https://api.together.xyz/v1',
    variable: 'TOGETHER_API_KEY',
    capField: 'max_tokens',
    unsupported: ['user', ...KEPT_HINTS],
    reasoning: 'reasoning',
    // https://github.com/togethercomputer/openapi/blob/main/openapi.yaml, /images/generations
    images: {
      size: 'dimensions',
      inline: 'base64',
      edits: 'addresses',
      outputFormats: ['png', 'jpeg'],
      fields: ['seed', 'negative_prompt', 'guidance_scale'],
    },
    source: `${LITELLM}/litellm_core_utils/get_llm_provider_logic.py`,
  },
  fireworks: {
    title: 'Fireworks AI',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    variable: 'FIREWORKS_API_KEY',
    capField: 'max_tokens',
    wholeCap: 4_096,
    unsupported: ['store', 'safety_identifier'],
    reasoning: 'reasoning_content',
    notes: 'An answer has more than 4,096 tokens only as a stream; the cap of others is lowered to that.',
    source: 'https://fireworks.ai/docs/api-reference/post-chatcompletions',
  },
  cerebras: {
    title: 'Cerebras',
    baseUrl: 'https://api.cerebras.ai/v1',
    variable: 'CEREBRAS_API_KEY',
    capField: 'max_completion_tokens',
    unsupported: ['frequency_penalty', 'presence_penalty', 'logit_bias', ...KEPT_HINTS],
    reasoning: 'reasoning',
    source: 'https://inference-docs.cerebras.ai/resources/openai',
  },
  perplexity: {
    title: 'Perplexity',
    baseUrl: 'https://api.perplexity.ai',
    variable: 'PERPLEXITY_API_KEY',
    capField: 'max_tokens',
    unsupported: ['tools', 'functions'],
    listsModels: false,
    notes:
      'Every answer searches the web, which costs extra at the provider: give its models a price that covers it.',
    source: `${LITELLM}/llms/perplexity/chat/transformation.py`,
  },
  nvidia: {
    title: 'NVIDIA NIM',
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    variable: 'NVIDIA_API_KEY',
    capField: 'max_tokens',
    source: `${LITELLM}/llms/nvidia_nim/chat/transformation.py`,
  },
  sambanova: {
    title: 'SambaNova',
    baseUrl: 'https://api.sambanova.ai/v1',
    variable: 'SAMBANOVA_API_KEY',
    capField: 'max_tokens',
    source: `${LITELLM}/llms/sambanova/chat.py`,
  },
  deepinfra: {
    title: 'DeepInfra',
    baseUrl: 'https://api.deepinfra.com/v1/openai',
    variable: 'DEEPINFRA_API_KEY',
    capField: 'max_tokens',
    notes: 'Its usage names what a request cost; customers do not see it.',
    source: `${LITELLM}/llms/deepinfra/chat/transformation.py`,
  },
  moonshot: {
    title: 'Moonshot (Kimi)',
    baseUrl: 'https://api.moonshot.ai/v1',
    variable: 'MOONSHOT_API_KEY',
    capField: 'max_tokens',
    unsupported: ['functions'],
    reasoning: 'reasoning_content',
    source: `${LITELLM}/llms/moonshot/chat/transformation.py`,
  },
  zai: {
    title: 'Z.ai',
    baseUrl: 'https://api.z.ai/api/paas/v4',
    variable: 'ZAI_API_KEY',
    capField: 'max_tokens',
    reasoning: 'reasoning_content',
    source: `${LITELLM}/llms/zai/chat/transformation.py`,
  },
  dashscope: {
    title: 'Alibaba DashScope',
    baseUrl: 'https://dashscope.aliyuncs.com/compatible-mode/v1',
    variable: 'DASHSCOPE_API_KEY',
    capField: 'max_tokens',
    reasoning: 'reasoning_content',
    notes: 'Outside China: `base_url: https://dashscope-intl.aliyuncs.com/compatible-mode/v1`.',
    source: `${LITELLM}/llms/dashscope/chat/transformation.py`,
  },
  minimax: {
    title: 'MiniMax',
    baseUrl: 'https://api.minimax.io/v1',
    variable: 'MINIMAX_API_KEY',
    capField: 'max_tokens',
    source: `${LITELLM}/llms/minimax/chat/transformation.py`,
  },
  nebius: {
    title: 'Nebius',
    baseUrl: 'https://api.studio.nebius.ai/v1',
    variable: 'NEBIUS_API_KEY',
    capField: 'max_tokens',
    source: `${LITELLM}/llms/nebius/chat/transformation.py`,
  },
  novita: {
    title: 'Novita',
    baseUrl: 'https://api.novita.ai/v3/openai',
    variable: 'NOVITA_API_KEY',
    capField: 'max_tokens',
    source: `${LITELLM}/litellm_core_utils/get_llm_provider_logic.py`,
  },
  hyperbolic: {
    title: 'Hyperbolic',
    baseUrl: 'https://api.hyperbolic.xyz/v1',
    variable: 'HYPERBOLIC_API_KEY',
    capField: 'max_tokens',
    source: `${LITELLM}/llms/hyperbolic/chat/transformation.py`,
  },
  featherless: {
    title: 'Featherless',
    baseUrl: 'https://api.featherless.ai/v1',
    variable: 'FEATHERLESS_API_KEY',
    capField: 'max_tokens',
    source: `${LITELLM}/llms/featherless_ai/chat/transformation.py`,
  },
  huggingface: {
    title: 'Hugging Face router',
    baseUrl: 'https://router.huggingface.co/v1',
    variable: 'HF_TOKEN',
    capField: 'max_tokens',
    source: `${LITELLM}/llms/huggingface/chat/transformation.py`,
  },
  scaleway: {
    title: 'Scaleway',
    baseUrl: 'https://api.scaleway.ai/v1',
    variable: 'SCW_SECRET_KEY',
    capField: 'max_tokens',
    source: `${LITELLM}/llms/openai_like/providers.json`,
  },
} as const satisfies Record<string, Preset>;

const LOCAL = {
  ollama: {
    title: 'Ollama',
    baseUrl: 'http://127.0.0.1:11434/v1',
    capField: 'max_tokens',
    unsupported: ['logit_bias', 'n', 'tool_choice', 'user', ...KEPT_HINTS],
    reasoning: 'reasoning',
    notes: 'It would ignore `tool_choice`: only `auto` can be asked for. Images must be data URLs.',
    source: 'https://github.com/ollama/ollama/blob/main/openai/openai.go',
  },
  lmstudio: {
    title: 'LM Studio',
    baseUrl: 'http://127.0.0.1:1234/v1',
    capField: 'max_tokens',
    unsupported: ['user', ...KEPT_HINTS],
    reasoning: 'reasoning_content',
    source: 'https://lmstudio.ai/docs/developer/openai-compat',
  },
  llamacpp: {
    title: 'llama.cpp server',
    baseUrl: 'http://127.0.0.1:8080/v1',
    capField: 'max_tokens',
    unsupported: ['n', ...KEPT_HINTS],
    reasoning: 'reasoning_content',
    notes: 'It would answer `n` above 1 with 500, which says nothing about its health.',
    source: 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-common.cpp',
  },
  vllm: {
    title: 'vLLM',
    baseUrl: 'http://127.0.0.1:8000/v1',
    capField: 'max_tokens',
    unsupported: KEPT_HINTS,
    reasoning: 'reasoning_content',
    source: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
  },
} as const satisfies Record<string, Preset>;

export const PRESETS = { ...CLOUD, ...LOCAL };

export type PresetName = keyof typeof PRESETS;

export const PRESET_NAMES = Object.keys(PRESETS) as [PresetName, ...PresetName[]];
