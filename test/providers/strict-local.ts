import { bad, type StrictProvider } from './strict-server.ts';
import { fieldsOf, listOf, type Refusal } from './stand-in.ts';

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

/** From general knowledge of its server, and unverified. */
function llamaCppRules({ tools, response_format, grammar, n }: Record<string, unknown>): Refusal | undefined {
  const constrained = grammar !== undefined || fieldsOf(response_format)['type'] === 'json_schema';
  if (listOf(tools).length > 0 && constrained)
    return bad('response_format', 'Cannot use custom grammar constraints with tools.');
  return n === undefined || n === 1 ? undefined : bad('n', 'Only one completion choice is allowed');
}

/** Servers on one's own machine; what has no link beside it is from general knowledge of `source`, and unverified. */
export const LOCAL_PROVIDERS: readonly StrictProvider[] = [
  {
    preset: 'vllm',
    models: { 'Qwen/Qwen3-32B': { maxOutput: 32_768, thinks: true } },
    fields: [
      MESSAGES,
      'max_tokens max_completion_tokens stream_options n user frequency_penalty presence_penalty logit_bias logprobs',
      'top_logprobs top_k min_p repetition_penalty stop_token_ids ignore_eos guided_json structured_outputs',
      'chat_template_kwargs parallel_tool_calls reasoning_effort',
    ],
    unknown: vllmWords,
    usage: 'if_asked',
    lineEnd: '\r\n',
    reasoning: 'reasoning_content',
    source: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
  },
  {
    preset: 'ollama',
    models: { 'qwen3:8b': { maxOutput: 32_768, thinks: true } },
    fields: [MESSAGES, 'max_tokens stream_options frequency_penalty presence_penalty reasoning_effort'],
    unknown: (field) => bad(field, `json: unknown field "${field}"`),
    usage: 'if_asked',
    wholeCalls: true,
    reasoning: 'reasoning',
    source: 'https://github.com/ollama/ollama/blob/main/docs/api/openai-compatibility.mdx',
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
    error: ({ status, message }) => ({ error: { code: status, message, type: 'invalid_request_error' } }),
    rules: llamaCppRules,
    usage: 'if_asked',
    reasoning: 'reasoning_content',
    more: {
      system_fingerprint: 'b8681-5c0f1a2',
      timings: { prompt_n: 11, predicted_n: 7, predicted_ms: 80.5 },
    },
    source: 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md',
  },
];
