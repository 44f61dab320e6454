import { bad, type StrictProvider } from './strict-server.ts';
import { fieldsOf, listOf, textOf, type Refusal } from './stand-in.ts';

const MESSAGES = 'model messages stream temperature top_p stop seed tools tool_choice response_format';

/** Older vLLM forbade extra fields with pydantic: https://github.com/1Panel-dev/MaxKB/issues/2912. */
function vllmWords(field: string): Refusal {
  const detail = [{ type: 'extra_forbidden', loc: ['body', field], msg: 'Extra inputs are not permitted' }];
  const body = {
    object: 'error',
    message: JSON.stringify(detail),
    type: 'BadRequestError',
    param: null,
    code: 400,
  };
  return { status: 400, message: 'Extra inputs are not permitted', body };
}

/** https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670 */
function lmStudioRules({ tool_choice }: Record<string, unknown>): Refusal | undefined {
  return typeof tool_choice === 'object' && tool_choice !== null
    ? bad('tool_choice', "Invalid tool_choice type: 'object'. Supported string values: none, auto, required")
    : undefined;
}

/**
 * `oaicompat_chat_params_parse` in tools/server/server-common.cpp (llama.cpp aa6192d). What it throws there is answered
 * with 500 and `server_error`, though the request is to blame.
 */
function llamaCppRules(body: Record<string, unknown>): Refusal | undefined {
  const { tools, grammar, n, logprobs, top_logprobs, stream } = body;
  const hasTools = listOf(tools).length > 0;
  if (hasTools && grammar !== undefined)
    return bad('grammar', 'Cannot use custom grammar constraints with tools.', 500);
  if (n !== undefined && n !== 1) return bad('n', 'Only one completion choice is allowed', 500);
  if (logprobs === true && hasTools && stream === true)
    return bad('logprobs', 'logprobs is not supported with tools + stream', 500);
  return logprobs !== true && top_logprobs !== undefined
    ? bad('top_logprobs', 'top_logprobs requires logprobs to be set to true', 500)
    : undefined;
}

/** `ReasoningEffort` in vllm/entrypoints/openai/chat_completion/protocol.py (vLLM d5dba2d). */
function vllmRules({ reasoning_effort }: Record<string, unknown>): Refusal | undefined {
  return reasoning_effort === undefined || ['low', 'medium', 'high'].includes(textOf(reasoning_effort))
    ? undefined
    : bad('reasoning_effort', "Input should be 'low', 'medium' or 'high'");
}

/** `FromChatRequest` and `decodeImageURL` in openai/openai.go (Ollama 634c416): it fetches nothing. */
function ollamaRules({ messages }: Record<string, unknown>): Refusal | undefined {
  for (const { content, tool_calls } of listOf(messages)) {
    if ((content === undefined || content === null) && tool_calls === undefined)
      return bad('messages', 'invalid message content type: <nil>');
    const links = listOf(content).flatMap(({ image_url }) => (image_url === undefined ? [] : [image_url]));
    const taken = /^data:(?:image\/(?:jpeg|jpg|png|webp))?;base64,/;
    if (!links.every((link) => taken.test(textOf(fieldsOf(link)['url']))))
      return bad('messages', 'invalid image input');
  }
  return undefined;
}

/** Servers on one's own machine. Where `source` is a page, what has no link beside it is from general knowledge of it, and unverified. */
export const LOCAL_PROVIDERS: readonly StrictProvider[] = [
  {
    preset: 'vllm',
    models: { 'Qwen/Qwen3-32B': { maxOutput: 32_768, thinks: true } },
    fields: [
      MESSAGES,
      'max_tokens max_completion_tokens stream_options n user frequency_penalty presence_penalty logit_bias logprobs',
      'top_logprobs top_k min_p repetition_penalty length_penalty min_tokens stop_token_ids ignore_eos bad_words',
      'allowed_token_ids structured_outputs chat_template_kwargs mm_processor_kwargs parallel_tool_calls reasoning_effort',
      'include_reasoning echo documents priority cache_salt vllm_xargs',
    ],
    // Since then it takes and ignores them.
    unknown: vllmWords,
    rules: vllmRules,
    usage: 'if_asked',
    lineEnd: '\r\n',
    reasoning: 'reasoning_content',
    source: 'https://github.com/vllm-project/vllm (d5dba2d)',
  },
  {
    preset: 'ollama',
    models: { 'qwen3:8b': { maxOutput: 32_768, thinks: true } },
    // `ChatCompletionRequest` in openai/openai.go; it has no tool_choice, n, user or logit_bias. That it refuses others is
    // stricter than it is: they are ignored.
    fields: [
      'model messages stream temperature top_p stop seed tools response_format reasoning reasoning_effort',
      'max_tokens stream_options frequency_penalty presence_penalty logprobs top_logprobs',
    ],
    unknown: (field) => bad(field, `json: unknown field "${field}"`),
    rules: ollamaRules,
    usage: 'if_asked',
    wholeCalls: true,
    reasoning: 'reasoning',
    source: 'https://github.com/ollama/ollama (634c416)',
  },
  {
    preset: 'lmstudio',
    models: { 'qwen/qwen3-8b': { maxOutput: 32_768, thinks: true } },
    fields: [
      MESSAGES,
      'max_tokens stream_options top_k presence_penalty frequency_penalty logit_bias repeat_penalty reasoning_effort ttl',
    ],
    // Its errors are texts (https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189). That it refuses a field that
    // it does not know is stricter than it is known to be.
    unknown: (field) => bad(field, `Unrecognized key(s) in object: '${field}'`),
    error: ({ message }) => ({ error: message }),
    formats: {
      types: ['text', 'json_schema'],
      refusal: "'response_format.type' must be 'json_schema' or 'text'",
    },
    rules: lmStudioRules,
    usage: 'if_asked',
    reasoning: 'reasoning_content',
    more: { stats: {}, system_fingerprint: 'qwen/qwen3-8b' },
    source: 'https://lmstudio.ai/docs/developer/openai-compat',
  },
  {
    preset: 'llamacpp',
    models: { 'qwen3-8b-q4': { maxOutput: 32_768, thinks: true } },
    fields: [
      MESSAGES,
      'max_tokens max_completion_tokens stream_options n logit_bias logprobs top_logprobs frequency_penalty presence_penalty',
      'top_k min_p typical_p repeat_penalty repeat_last_n mirostat mirostat_tau mirostat_eta grammar json_schema samplers',
      'dry_multiplier xtc_probability cache_prompt id_slot timings_per_token reasoning_format chat_template_kwargs',
      'parse_tool_calls parallel_tool_calls reasoning_effort user',
    ],
    // That it refuses a field that it does not know is stricter than it is.
    unknown: (field) => bad(field, `unknown field "${field}"`),
    error: ({ status, message }) => ({
      error: { code: status, message, type: status < 500 ? 'invalid_request_error' : 'server_error' },
    }),
    rules: llamaCppRules,
    usage: 'if_asked',
    reasoning: 'reasoning_content',
    more: {
      system_fingerprint: 'b8681-5c0f1a2',
      timings: { prompt_n: 11, predicted_n: 7, predicted_ms: 80.5 },
    },
    source: 'https://github.com/ggml-org/llama.cpp (aa6192d)',
  },
];
