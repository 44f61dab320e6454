import { LOCAL_PROVIDERS } from './strict-local.ts';
import { bad, type StrictProvider } from './strict-server.ts';
import { fieldsOf, listOf, type Refusal } from './stand-in.ts';

const MESSAGES = 'model messages stream temperature top_p stop seed tools tool_choice response_format';

/** Servers that check with pydantic and forbid extra fields name them in a list within the message. */
function pydanticWords(field: string): Refusal {
  const detail = [{ type: 'extra_forbidden', loc: ['body', field], msg: 'Extra inputs are not permitted' }];
  const message = { detail };
  const body = { object: 'error', message, type: 'invalid_request_error', param: null, code: null };
  return { status: 422, message: 'Extra inputs are not permitted', body };
}

/**
 * "Only n=1 is supported. Other values will result in a 400 response": groq-python 9620fde,
 * src/groq/types/chat/completion_create_params.py. That schemas go with neither streams nor tools, and these words, are
 * from general knowledge of https://console.groq.com/docs/structured-outputs, and unverified.
 */
function groqRules({
  response_format,
  stream,
  tools,
  n,
  messages,
}: Record<string, unknown>): Refusal | undefined {
  const hasSchema = fieldsOf(response_format)['type'] === 'json_schema';
  if (hasSchema && (stream === true || listOf(tools).length > 0))
    return bad('response_format', 'response_format json_schema is not supported with streaming or tools');
  if (n !== undefined && n !== 1) return bad('n', "'n' : number must be at most 1");
  return listOf(messages).some(({ name }) => name !== undefined)
    ? bad('messages', "property 'name' is unsupported")
    : undefined;
}

/**
 * xAI says which argument a model does not take in camel case: https://github.com/yym68686/uni-api/issues/105,
 * https://github.com/lobehub/lobehub/pull/8379 (which models refuse which).
 */
function xaiWords(field: string): string {
  const name = field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return `Argument not supported on this model: ${name}`;
}

const XAI_THINKERS_REFUSE = ['presence_penalty', 'frequency_penalty', 'stop'];

const CLOUD_PROVIDERS: readonly StrictProvider[] = [
  {
    preset: 'groq',
    models: {
      'llama-3.3-70b-versatile': {
        maxOutput: 32_768,
        refuses: {
          fields: ['reasoning_effort', 'reasoning_format', 'include_reasoning'],
          words: (field) => `${field} is not supported with this model`,
        },
      },
      'openai/gpt-oss-120b': { maxOutput: 65_536, thinks: true },
    },
    fields: [
      MESSAGES,
      'max_completion_tokens max_tokens stream_options n user parallel_tool_calls frequency_penalty presence_penalty',
      'reasoning_effort reasoning_format include_reasoning service_tier functions function_call documents',
      'citation_options compound_custom disable_tool_validation search_settings',
    ],
    unknown: (field) => bad(field, `property '${field}' is unsupported`),
    rules: groqRules,
    usage: 'if_asked',
    reasoning: 'reasoning',
    more: { x_groq: { id: 'req_1' } },
    // The fields but those "not yet supported" or "not currently supported": logprobs, logit_bias, top_logprobs, metadata,
    // store. `stream_options` is not among them, and is taken: https://github.com/Portkey-AI/gateway/issues/1338.
    source: 'https://github.com/groq/groq-python (9620fde), https://console.groq.com/docs/openai',
  },
  {
    preset: 'mistral',
    models: { 'mistral-large-latest': { maxOutput: 128_000 } },
    fields: [
      'model messages stream temperature top_p stop random_seed tools tool_choice response_format',
      'max_tokens presence_penalty frequency_penalty n prediction parallel_tool_calls prompt_mode safe_prompt metadata',
      'reasoning_effort guardrails prompt_cache_key',
    ],
    unknown: pydanticWords,
    // https://github.com/Mobile-Artificial-Intelligence/maid/issues/672
    error: ({ message, param = null, code = null }) => ({
      object: 'error',
      message,
      type: 'invalid_request_error',
      param,
      code,
    }),
    // https://github.com/mistralai/client-ts/issues/30
    takesBareAddresses: true,
    usage: 'with_finish',
    wholeCalls: true,
    // The fields: src/mistralai/client/models/chatcompletionrequest.py. The words: the issue.
    source:
      'https://github.com/mistralai/client-python (05629d2), https://github.com/avante-corp/avante.nvim/issues/2347',
  },
  {
    preset: 'deepseek',
    models: {
      'deepseek-chat': { maxOutput: 8_192 },
      'deepseek-reasoner': { maxOutput: 65_536, thinks: true },
    },
    fields: [
      MESSAGES,
      'max_tokens stream_options frequency_penalty presence_penalty logprobs top_logprobs thinking reasoning_effort user_id',
    ],
    unknown: (field) => bad(field, `Failed to deserialize the JSON body: unknown field \`${field}\``),
    formats: { types: ['text', 'json_object'], refusal: 'This response_format type is unavailable now' },
    textOnly: 'Failed to deserialize the JSON body: unknown variant `image_url`, expected `text`',
    usage: 'with_finish',
    comment: ': keep-alive',
    reasoning: 'reasoning_content',
    moreUsage: ({ input, cached }) => ({
      prompt_cache_hit_tokens: cached,
      prompt_cache_miss_tokens: input - cached,
    }),
    // `reasoning_effort`: "low and medium are mapped to high" (ChatRequest of the crate, which follows the reference).
    source: 'https://api-docs.deepseek.com/api/create-chat-completion, https://docs.rs/deepseek-sdk',
  },
  {
    preset: 'openrouter',
    models: {
      'meta-llama/llama-3.3-70b-instruct': { maxOutput: 65_536 },
      'deepseek/deepseek-r1': { maxOutput: 65_536, thinks: true },
    },
    fields: [
      MESSAGES,
      'max_tokens max_completion_tokens stream_options top_k min_p top_a repetition_penalty frequency_penalty',
      'presence_penalty logit_bias logprobs top_logprobs reasoning reasoning_effort user parallel_tool_calls cache_control',
      'debug image_config metadata modalities models plugins prediction prompt_cache_key prompt_cache_options provider',
      'route service_tier session_id stop_server_tools_when trace',
    ],
    unknown: (field) => bad(field, `Unrecognized key: ${field}`),
    error: ({ status, message }) => ({ error: { message, code: status } }),
    usage: 'if_asked',
    comment: ': OPENROUTER PROCESSING',
    reasoning: 'reasoning',
    more: { provider: 'DeepInfra' },
    moreUsage: () => ({ cost: 0.00014, cost_details: { upstream_inference_cost: null }, is_byok: false }),
    // The fields: ChatRequest in .speakeasy/in.openapi.yaml, which does not say what happens to others.
    source:
      'https://github.com/OpenRouterTeam/typescript-sdk (cb9393a), https://openrouter.ai/docs/api/reference/streaming',
  },
  {
    preset: 'cerebras',
    models: {
      'llama-3.3-70b': {
        maxOutput: 65_536,
        refuses: {
          fields: ['reasoning_effort'],
          words: (field) => `${field} is not supported by this model`,
        },
      },
      'gpt-oss-120b': { maxOutput: 65_536, thinks: true },
    },
    fields: [MESSAGES, 'max_completion_tokens stream_options logprobs top_logprobs reasoning_effort user'],
    unknown: (field) => bad(field, `property '${field}' is unsupported`),
    textOnly: 'messages.content must be text; this model takes no images',
    usage: 'if_asked',
    reasoning: 'reasoning',
    source: 'https://inference-docs.cerebras.ai/resources/openai',
  },
  {
    preset: 'xai',
    models: {
      'grok-3': {
        maxOutput: 131_072,
        refuses: { fields: ['reasoning_effort'], words: xaiWords },
      },
      'grok-3-mini': {
        maxOutput: 131_072,
        thinks: true,
        refuses: { fields: XAI_THINKERS_REFUSE, words: xaiWords },
      },
      'grok-4': {
        maxOutput: 256_000,
        thinks: true,
        refuses: { fields: [...XAI_THINKERS_REFUSE, 'reasoning_effort'], words: xaiWords },
      },
    },
    fields: [
      MESSAGES,
      'max_tokens max_completion_tokens stream_options n user parallel_tool_calls frequency_penalty presence_penalty',
      'logit_bias logprobs top_logprobs reasoning_effort search_parameters web_search_options deferred',
    ],
    // The shape is in the issues above; the words for a field that it does not know are unverified.
    unknown: (field) =>
      bad(field, `Failed to deserialize the JSON body into the target type: unknown field \`${field}\``),
    error: ({ message }) => ({ code: 'Client specified an invalid argument', error: message }),
    usage: 'own_chunk',
    reasoning: 'reasoning_content',
    // "Reasoning token consumption will be counted separately from completion_tokens, but will be counted in the
    // total_tokens": https://docs.x.ai/docs/key-information/consumption-and-rate-limits, quoted in
    // https://github.com/vercel/ai/pull/12425.
    reasoningBeside: true,
    moreUsage: () => ({ num_sources_used: 0 }),
    source: 'https://docs.x.ai/docs/api-reference#chat-completions',
  },
  {
    preset: 'together',
    models: {
      'meta-llama/Llama-3.3-70B-Instruct-Turbo': { maxOutput: 131_072 },
      'deepseek-ai/DeepSeek-R1': { maxOutput: 32_768, thinks: true },
    },
    fields: [
      MESSAGES,
      'max_tokens stream_options n echo logprobs top_k min_p repetition_penalty frequency_penalty presence_penalty logit_bias',
      'context_length_exceeded_behavior safety_model compliance reasoning_effort reasoning chat_template_kwargs',
      'function_call parallel_tool_calls',
    ],
    // Words from https://github.com/mozilla-ai/any-llm/issues/714; that it names the field is unverified.
    unknown: (field) => bad(field, `Input validation error: unknown field ${field}`),
    usage: 'with_finish',
    reasoning: 'reasoning',
    more: { prompt: [] },
    // The fields: ChatCompletionRequest in openapi.yaml, which does not say what happens to others. `stream_options` and
    // `parallel_tool_calls` are not in it; that they are taken is unverified.
    source: 'https://github.com/togethercomputer/openapi (090263a)',
  },
  {
    preset: 'fireworks',
    models: {
      'accounts/fireworks/models/llama-v3p3-70b-instruct': { maxOutput: 131_072 },
      'accounts/fireworks/models/deepseek-r1': { maxOutput: 131_072, thinks: true },
    },
    fields: [
      MESSAGES,
      'max_tokens max_completion_tokens stream_options n user top_k min_p typical_p mirostat_lr mirostat_target metadata',
      'frequency_penalty presence_penalty repetition_penalty logit_bias logprobs top_logprobs echo echo_last ignore_eos',
      'prompt_truncate_len reasoning_effort reasoning_history context_length_exceeded_behavior functions function_call',
      'perf_metrics_in_response parallel_tool_calls prediction prompt_cache_isolation_key prompt_cache_key raw_output',
      'return_token_ids safe_tokenization service_tier speculation thinking',
    ],
    // https://github.com/web-infra-dev/midscene/issues/1322, https://github.com/musistudio/claude-code-router/issues/377
    unknown: (field, value) =>
      bad(field, `Extra inputs are not permitted, field: '${field}', value: ${JSON.stringify(value)}`),
    error: ({ message }) => {
      const kind = 'invalid_request_error';
      return { error: { object: 'error', type: kind, code: kind, message } };
    },
    // https://github.com/nullclaw/nullclaw/pull/231
    rules: ({ max_tokens, stream }) =>
      typeof max_tokens === 'number' && max_tokens > 4096 && stream !== true
        ? bad('max_tokens', 'Requests with max_tokens > 4096 must have stream=true')
        : undefined,
    // "Newer models require an explicit opt-in and return counts in a final chunk without choices":
    // https://github.com/langchain-ai/langchain/pull/36977
    usage: 'if_asked',
    reasoning: 'reasoning_content',
    // The fields: src/fireworks/types/chat/completion_create_params.py ("Alias for max_tokens. Cannot be specified together
    // with max_tokens").
    source: 'https://github.com/fw-ai-external/python-sdk (8399c12)',
  },
];

/**
 * Where `source` names a repository and a commit, the fields were read there. Limits of models, words without a link
 * beside them, and the fields of the others are from general knowledge of the page in `source`, and unverified.
 */
export const STRICT_PROVIDERS: readonly StrictProvider[] = [...CLOUD_PROVIDERS, ...LOCAL_PROVIDERS];
