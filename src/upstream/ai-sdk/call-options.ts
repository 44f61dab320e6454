import type {
  JSONObject,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from '@ai-sdk/provider';
import { z } from 'zod';
import type { ChatRequest, ChatTool } from '../../wire/openai/chat.ts';
import { rejected } from '../response.ts';
import { isObject } from './json.ts';
import { cacheControlOptions, type Provider } from './provider.ts';
import { toPrompt } from './prompt.ts';

/**
 * A canonical request as a call of the AI SDK. Fields that a provider does not support (seed, penalties, hints) are
 * dropped by its package; those that would change the answer's shape or its price are refused with an explanation.
 */
export function toCallOptions(request: ChatRequest, provider: Provider): LanguageModelV4CallOptions {
  const extras = readExtras(request);
  refuseUnsupported(request, extras, provider);
  const maxOutputTokens = outputCap(request);
  const tools = toolsOf(request, provider);
  const options = provider.requestOptions?.(request) ?? {};
  return {
    prompt: toPrompt(request.messages, provider, tools.length > 0 && extras.tool_choice !== 'none'),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...optionalField('temperature', request.temperature),
    ...optionalField('topP', request.top_p),
    ...optionalField('frequencyPenalty', request.frequency_penalty),
    ...optionalField('presencePenalty', request.presence_penalty),
    ...optionalField('seed', request.seed),
    ...optionalField('stopSequences', typeof request.stop === 'string' ? [request.stop] : request.stop),
    ...optionalField('responseFormat', responseFormat(extras.response_format)),
    ...(tools.length > 0 && { tools, ...optionalField('toolChoice', toolChoice(extras.tool_choice)) }),
    ...optionalField('reasoning', extras.reasoning_effort ?? undefined),
    ...(Object.keys(options).length > 0 && { providerOptions: { [provider.namespace]: options } }),
  };
}

/** The cap that the hold covers, under either of its two names. */
export function outputCap(request: ChatRequest): number | undefined {
  const { max_tokens: older, max_completion_tokens: newer } = request;
  return older !== undefined && newer !== undefined ? Math.min(older, newer) : (newer ?? older);
}

const jsonSchema = z.custom<JSONObject>(isObject);

const extrasSchema = z.object({
  response_format: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
      z.object({
        type: z.literal('json_schema'),
        json_schema: z.object({
          name: z.string().optional(),
          description: z.string().optional(),
          schema: jsonSchema.optional(),
        }),
      }),
    ])
    .nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
    ])
    .nullish(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  logprobs: z.union([z.boolean(), z.number()]).nullish(),
  top_logprobs: z.number().nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  modalities: z.array(z.string()).nullish(),
  functions: z.unknown().optional(),
});

type Extras = z.infer<typeof extrasSchema>;

function readExtras(request: ChatRequest): Extras {
  const read = extrasSchema.safeParse(request);
  if (read.success) return read.data;
  const issue = read.error.issues[0];
  throw rejected(`${issue?.path.join('.') ?? 'request'}: ${issue?.message ?? 'not understood'}`);
}

function refuseUnsupported(request: ChatRequest, extras: Extras, provider: Provider): void {
  // As n calls the input would be billed n times, but the hold covers it once.
  if ((request.n ?? 1) > 1)
    throw rejected('This model gives one choice per request; leave out n, or send the request again.');
  if (extras.logprobs || extras.top_logprobs) throw rejected('This model does not give logprobs.');
  if (!provider.logitBias && Object.keys(extras.logit_bias ?? {}).length > 0)
    throw rejected('This model does not take logit_bias.');
  if (provider.jsonObject === false && extras.response_format?.type === 'json_object')
    throw rejected(
      'This model has no JSON mode. Use response_format json_schema with a schema, or ask for JSON in a message.',
      'response_format',
    );
  if (extras.modalities?.includes('audio')) throw rejected('This model does not answer in audio.');
  if (extras.functions !== undefined && extras.functions !== null)
    throw rejected('functions is no longer supported; use tools.');
}

function responseFormat(format: Extras['response_format']): LanguageModelV4CallOptions['responseFormat'] {
  if (!format || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json' };
  const { name, description, schema } = format.json_schema;
  return {
    type: 'json',
    ...optionalField('name', name),
    ...optionalField('description', description),
    ...optionalField('schema', schema),
  };
}

function toolChoice(choice: Extras['tool_choice']): LanguageModelV4ToolChoice | undefined {
  if (!choice) return undefined;
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.function.name };
}

const NO_PARAMETERS: JSONObject = { type: 'object', properties: {} };

function toolsOf(request: ChatRequest, provider: Provider): LanguageModelV4FunctionTool[] {
  return (request.tools ?? []).map((tool) => toolOf(tool, provider));
}

function toolOf(tool: ChatTool, provider: Provider): LanguageModelV4FunctionTool {
  if (tool.type !== 'function' || !tool.function)
    throw rejected(`This model takes tools of type 'function' only, not '${tool.type}'.`);
  const { name, description, parameters, strict } = tool.function;
  return {
    type: 'function',
    name,
    ...optionalField('description', description ?? undefined),
    inputSchema: isObject(parameters) ? parameters : NO_PARAMETERS,
    ...optionalField('strict', typeof strict === 'boolean' ? strict : undefined),
    ...cacheControlOptions(tool, provider),
  };
}

function optionalField<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { [K in Key]?: Value } {
  // TypeScript cannot infer the type of a computed key: one key of this type, or none.
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };
}
