import type { StrictProvider } from './strict-server.ts';

const MESSAGES = 'model messages stream temperature top_p stop seed tools tool_choice response_format';

/** `{ error: { message, type, param, code } }`, as OpenAI and most who follow it answer. */
function openAiWords(message: (field: string) => string) {
  return (field: string) => ({
    status: 400,
    body: { error: { message: message(field), type: 'invalid_request_error', param: field, code: null } },
  });
}

/** Servers that check with pydantic and forbid extra fields name them in a list within the message. */
function pydanticWords(field: string) {
  const detail = [{ type: 'extra_forbidden', loc: ['body', field], msg: 'Extra inputs are not permitted' }];
  const body = {
    object: 'error',
    message: { detail },
    type: 'invalid_request_error',
    param: null,
    code: null,
  };
  return { status: 422, body };
}

export const STRICT_PROVIDERS: readonly StrictProvider[] = [
  {
    preset: 'groq',
    fields: [
      MESSAGES,
      'max_completion_tokens max_tokens stream_options n user parallel_tool_calls frequency_penalty presence_penalty',
      'reasoning_effort reasoning_format include_reasoning service_tier',
    ],
    refusal: openAiWords((field) => `property '${field}' is unsupported`),
    usage: 'if_asked',
    reasoning: 'reasoning',
    more: { x_groq: { id: 'req_1' } },
    source: 'https://console.groq.com/docs/openai',
  },
  {
    preset: 'mistral',
    fields: [
      'model messages stream temperature top_p stop random_seed tools tool_choice response_format',
      'max_tokens presence_penalty frequency_penalty n prediction parallel_tool_calls prompt_mode safe_prompt metadata',
    ],
    refusal: pydanticWords,
    usage: 'with_finish',
    source: 'https://docs.mistral.ai/api/, https://github.com/avante-corp/avante.nvim/issues/2347',
  },
  {
    preset: 'deepseek',
    fields: [
      MESSAGES,
      'max_tokens stream_options frequency_penalty presence_penalty logprobs top_logprobs thinking',
    ],
    refusal: openAiWords((field) => `Failed to deserialize the JSON body: unknown field \`${field}\``),
    usage: 'with_finish',
    reasoning: 'reasoning_content',
    moreUsage: { prompt_cache_hit_tokens: 0, prompt_cache_miss_tokens: 11 },
    source: 'https://api-docs.deepseek.com/api/create-chat-completion',
  },
  {
    preset: 'openrouter',
    fields: [
      MESSAGES,
      'max_tokens stream_options top_k min_p top_a repetition_penalty frequency_penalty presence_penalty logit_bias',
      'logprobs top_logprobs reasoning include_reasoning usage user verbosity parallel_tool_calls',
    ],
    refusal: (field) => ({
      status: 400,
      body: { error: { message: `Unrecognized key: ${field}`, code: 400 } },
    }),
    usage: 'if_asked',
    comment: ': OPENROUTER PROCESSING',
    reasoning: 'reasoning',
    more: { provider: 'DeepInfra' },
    moreUsage: { cost: 0.00014, cost_details: { upstream_inference_cost: null }, is_byok: false },
    source: 'https://openrouter.ai/docs/api/reference/streaming',
  },
  {
    preset: 'cerebras',
    fields: [MESSAGES, 'max_completion_tokens stream_options logprobs top_logprobs reasoning_effort user'],
    refusal: openAiWords((field) => `property '${field}' is unsupported`),
    usage: 'if_asked',
    reasoning: 'reasoning',
    source: 'https://inference-docs.cerebras.ai/resources/openai',
  },
  {
    preset: 'vllm',
    fields: [
      MESSAGES,
      'max_tokens max_completion_tokens stream_options n user frequency_penalty presence_penalty logit_bias logprobs',
      'top_logprobs top_k min_p repetition_penalty stop_token_ids ignore_eos guided_json structured_outputs',
      'chat_template_kwargs parallel_tool_calls reasoning_effort',
    ],
    refusal: pydanticWords,
    usage: 'if_asked',
    lineEnd: '\r\n',
    reasoning: 'reasoning_content',
    source: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
  },
  {
    preset: 'ollama',
    fields: [MESSAGES, 'max_tokens stream_options frequency_penalty presence_penalty reasoning_effort'],
    refusal: openAiWords((field) => `json: unknown field "${field}"`),
    usage: 'if_asked',
    reasoning: 'reasoning',
    source: 'https://github.com/ollama/ollama/blob/main/docs/api/openai-compatibility.mdx',
  },
];
