import { Fault } from '../../std/fault.ts';
import type { ChatRequest, ChatTool, ChatMessage, ContentPart } from '../openai/chat.ts';
import { effortOfBudget } from '../reasoning-effort.ts';
import { isAbsent, withoutAbsent } from '../field-table.ts';
import type {
  GenerateContentRequest,
  GenerationConfig,
  GeminiTool,
  GeminiContent,
  GeminiPart,
} from './request.ts';

interface GeminiOptions {
  readonly model: string;
  readonly stream: boolean;
}

interface TranslatedGemini {
  readonly request: ChatRequest;
  /** Fields that no backend gets, for `x-tollgate-dropped`. */
  readonly leftOut: readonly string[];
}

/** A request in the canonical form. What that cannot express is left out and named, or refused if it matters. */
export function geminiToChat(asked: GenerateContentRequest, options: GeminiOptions): TranslatedGemini {
  const config = asked.generationConfig ?? {};
  refuseUnsupported(asked, config);
  const messages = contentsToChatMessages(asked);
  if (messages.every(({ role }) => role === 'system'))
    throw new Fault('invalid_field', 'contents hold nothing that a model could read.', { param: 'contents' });
  const effort = effortOf(config.thinkingConfig);
  return {
    request: {
      model: options.model,
      messages,
      ...withoutAbsent({
        max_tokens: config.maxOutputTokens,
        temperature: config.temperature,
        top_p: config.topP,
        stop: config.stopSequences?.length ? config.stopSequences : undefined,
        seed: config.seed,
        presence_penalty: config.presencePenalty,
        frequency_penalty: config.frequencyPenalty,
        reasoning_effort: effort,
        response_format: formatOf(config),
      }),
      ...geminiToolFields(asked),
      ...(options.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    },
    leftOut: [...leftOutFields(asked, config, effort !== undefined), ...googleTools(asked)],
  };
}

function refuseUnsupported(asked: GenerateContentRequest, config: GenerationConfig): void {
  if (asked.cachedContent)
    throw unsupported('cachedContent', 'Tollgate keeps no content; send all of it in contents.');
  if ((config.candidateCount ?? 1) !== 1)
    throw unsupported('generationConfig.candidateCount', 'send one request for each answer.');
  const modality = config.responseModalities?.find((one) => !['TEXT', 'MODALITY_UNSPECIFIED'].includes(one));
  if (modality !== undefined)
    throw unsupported('generationConfig.responseModalities', 'only text comes from this API.');
}

function unsupported(param: string, reason: string): Fault {
  return new Fault('invalid_field', `${param} is not supported here: ${reason}`, { param });
}

/** JSON by a schema, JSON of any shape, or text. */
function formatOf(config: GenerationConfig): Record<string, unknown> | undefined {
  const { responseMimeType: type, responseSchema, responseJsonSchema, _responseJsonSchema } = config;
  if (isAbsent(type) || type === '' || type === 'text/plain') return undefined;
  if (type !== 'application/json')
    throw unsupported('generationConfig.responseMimeType', 'text/plain and application/json are.');
  const schema = responseSchema
    ? jsonSchemaOf(responseSchema)
    : (responseJsonSchema ?? _responseJsonSchema ?? undefined);
  if (schema === undefined) return { type: 'json_object' };
  return { type: 'json_schema', json_schema: { name: 'answer', schema } };
}

/** A budget of -1 leaves the choice to the model; so does none. */
function effortOf(thinking: GenerationConfig['thinkingConfig']): string | undefined {
  const { thinkingLevel: level, thinkingBudget: budget } = thinking ?? {};
  if (level && level !== 'THINKING_LEVEL_UNSPECIFIED') return level.toLowerCase();
  if (isAbsent(budget) || budget <= 0) return undefined;
  return effortOfBudget(budget);
}

const TRANSLATED = new Set([
  'maxOutputTokens',
  'temperature',
  'topP',
  'stopSequences',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'candidateCount',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  '_responseJsonSchema',
  'responseModalities',
  'thinkingConfig',
]);

function leftOutFields(
  { safetySettings, labels }: GenerateContentRequest,
  config: GenerationConfig,
  hasEffort: boolean,
): string[] {
  const { thinkingBudget: budget, thinkingLevel: level } = config.thinkingConfig ?? {};
  const isThinkingLeftOut = !hasEffort && (budget ?? level ?? -1) !== -1;
  return [
    ...(safetySettings?.length ? ['safetySettings'] : []),
    ...(labels === undefined ? [] : ['labels']),
    ...Object.keys(config)
      .filter((field) => !TRANSLATED.has(field) && !isAbsent(config[field]))
      .map((field) => `generationConfig.${field}`),
    ...(isThinkingLeftOut ? ['generationConfig.thinkingConfig'] : []),
  ];
}

/** The declared functions in the canonical form. Tools that Google would run itself are left out and named. */
function geminiToolFields(request: GenerateContentRequest): Partial<ChatRequest> {
  const { mode, allowedFunctionNames: allowed } = request.toolConfig?.functionCallingConfig ?? {};
  const tools = (request.tools ?? [])
    .flatMap((tool) => tool.functionDeclarations ?? [])
    .filter(({ name }) => !allowed?.length || allowed.includes(name))
    .map(toolToChat);
  if (tools.length === 0) {
    if (mode !== 'ANY') return {};
    throw new Fault('invalid_field', 'toolConfig demands a call, but no function can be called.', {
      param: 'toolConfig.functionCallingConfig',
    });
  }
  return { tools, ...withoutAbsent({ tool_choice: toolChoice(mode, tools) }) };
}

/** E.g. `tools.googleSearch`. */
function googleTools({ tools }: Pick<GenerateContentRequest, 'tools'>): string[] {
  return (tools ?? []).flatMap((tool: GeminiTool) =>
    Object.keys(tool)
      .filter((kind) => kind !== 'functionDeclarations')
      .map((kind) => `tools.${kind}`),
  );
}

type Declaration = NonNullable<GeminiTool['functionDeclarations']>[number];

function toolToChat({ name, description, parameters, parametersJsonSchema }: Declaration): ChatTool {
  // The only other place for a schema is one that is a JSON schema already.
  const schema = parameters
    ? jsonSchemaOf(parameters)
    : (parametersJsonSchema as Record<string, unknown> | null | undefined);
  return { type: 'function', function: { name, ...withoutAbsent({ description, parameters: schema }) } };
}

function toolChoice(mode: string | null | undefined, tools: readonly ChatTool[]): unknown {
  const [only, another] = tools;
  if (mode === 'ANY' && only && !another)
    return { type: 'function', function: { name: only.function?.name } };
  return CHOICES[mode ?? ''];
}

const CHOICES: Readonly<Record<string, string>> = {
  ANY: 'required',
  NONE: 'none',
  AUTO: 'auto',
  VALIDATED: 'auto',
};

/**
 * Google's `Schema` (https://ai.google.dev/api/caching#Schema) as a JSON schema: types in lower case, `nullable` as a type,
 * and whole numbers that its clients may write as texts.
 */
function jsonSchemaOf(schema: object): Record<string, unknown> {
  const { nullable, ...fields } = schema as Record<string, unknown>;
  const converted = Object.fromEntries(
    Object.entries(fields)
      .filter(([key]) => !NOT_IN_JSON_SCHEMA.has(key))
      .map(([key, value]) => [key, convertedField(key, value)]),
  );
  const { type } = converted;
  return nullable === true && typeof type === 'string' ? { ...converted, type: [type, 'null'] } : converted;
}

const NOT_IN_JSON_SCHEMA = new Set(['propertyOrdering', 'property_ordering', 'example']);
const WHOLE_NUMBERS = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);

function convertedField(key: string, value: unknown): unknown {
  if (key === 'type' && typeof value === 'string') return value.toLowerCase();
  if (key === 'items' && isSchema(value)) return jsonSchemaOf(value);
  if (key === 'anyOf' && Array.isArray(value))
    return value.map((one: unknown) => (isSchema(one) ? jsonSchemaOf(one) : one));
  if (key === 'properties' && isSchema(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, one]: [string, unknown]) => [
        name,
        isSchema(one) ? jsonSchemaOf(one) : one,
      ]),
    );
  return WHOLE_NUMBERS.has(key) && typeof value === 'string' ? Number(value) : value;
}

function isSchema(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type ToolCall = NonNullable<ChatMessage['tool_calls']>[number];

/** The instruction and the turns of a conversation as canonical messages. */
export function contentsToChatMessages(
  request: Pick<GenerateContentRequest, 'contents' | 'systemInstruction'>,
): ChatMessage[] {
  const calls = new OpenCalls();
  return [
    ...systemToChat(request.systemInstruction),
    ...request.contents.flatMap((content, index) =>
      content.role === 'model'
        ? modelToChat(content, `contents.${index}`, calls)
        : userToChat(content, `contents.${index}`, calls),
    ),
  ];
}

function systemToChat(instruction: GenerateContentRequest['systemInstruction']): ChatMessage[] {
  const text = (instruction?.parts ?? []).map((part) => part.text ?? '').join('\n\n');
  return text === '' ? [] : [{ role: 'system', content: text }];
}

/** Thoughts are not replayed: their signatures mean nothing to another provider. */
function modelToChat({ parts }: GeminiContent, path: string, calls: OpenCalls): ChatMessage[] {
  let text = '';
  const made: ToolCall[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.thought === true) continue;
    if (part.functionCall) made.push(calls.open(part.functionCall));
    else if (!isAbsent(part.text)) text += part.text;
    else if (!isAbsent(part.thoughtSignature)) continue;
    else throw notUnderstood(part, `${path}.parts.${index}`);
  }
  if (text === '' && made.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(made.length > 0 ? { tool_calls: made } : {}),
    },
  ];
}

/** Results come before anything else of their turn: in the canonical form they follow the calls at once. */
function userToChat({ parts }: GeminiContent, path: string, calls: OpenCalls): ChatMessage[] {
  const results: ChatMessage[] = [];
  const rest: ContentPart[] = [];
  for (const [index, part] of parts.entries()) {
    const where = `${path}.parts.${index}`;
    if (part.functionResponse) results.push(calls.answer(part.functionResponse, where));
    else rest.push(contentPart(part, where));
  }
  const [only, another] = rest;
  if (!only) return results;
  const content = !another && only.type === 'text' ? only.text : rest;
  return [...results, { role: 'user', content }];
}

function contentPart(part: GeminiPart, path: string): ContentPart {
  const { text, inlineData, fileData } = part;
  if (!isAbsent(text)) return { type: 'text', text };
  if (inlineData) return inlinePart(inlineData);
  if (fileData && isPicture(fileData)) return { type: 'image_url', image_url: { url: fileData.fileUri } };
  if (fileData) {
    throw new Fault('invalid_field', 'Files are taken inline (inlineData); only images by https address.', {
      param: `${path}.fileData`,
    });
  }
  throw notUnderstood(part, path);
}

function isPicture({ fileUri, mimeType }: { fileUri: string; mimeType?: string | null | undefined }) {
  return mimeType?.startsWith('image/') === true && fileUri.startsWith('https://');
}

function inlinePart({ mimeType, data }: { mimeType: string; data: string }): ContentPart {
  const url = `data:${mimeType};base64,${data}`;
  if (mimeType.startsWith('image/')) return { type: 'image_url', image_url: { url } };
  if (mimeType.startsWith('audio/'))
    return { type: 'input_audio', input_audio: { data, format: audioFormat(mimeType) } };
  return { type: 'file', file: { filename: 'file', file_data: url } };
}

function audioFormat(mimeType: string): string {
  const subtype = mimeType.slice('audio/'.length).replace(/^x-/, '');
  return subtype === 'mpeg' ? 'mp3' : subtype;
}

/** Named by what it holds, as far as that is a short word. */
function notUnderstood(part: GeminiPart, path: string): Fault {
  const [kind = 'nothing'] = Object.keys(part);
  return new Fault('invalid_field', `A part with ${kind.slice(0, 40)} is not supported here.`, {
    param: path,
  });
}

interface Called {
  readonly id?: string | null | undefined;
  readonly name: string;
  readonly args?: object | null | undefined;
}

/** Calls that wait for their results. Clients need not number them, or number them anew: then name and order tell. */
class OpenCalls {
  readonly #waiting: WaitingCall[] = [];
  #count = 0;

  open({ id, name, args }: Called): ToolCall {
    const call = { id: id || `call_${this.#count}`, name };
    this.#count++;
    this.#waiting.push(call);
    return { id: call.id, type: 'function', function: { name, arguments: JSON.stringify(args ?? {}) } };
  }

  answer(result: NonNullable<GeminiPart['functionResponse']>, path: string): ChatMessage {
    const { id, name, response, parts } = result;
    if (parts && parts.length > 0)
      throw new Fault('invalid_field', 'Results of functions are taken as JSON, without parts.', {
        param: `${path}.functionResponse.parts`,
      });
    const call = this.#take((one) => one.id === id) ?? this.#take((one) => one.name === name);
    if (!call)
      throw new Fault('invalid_field', `No functionCall before this waits for a result of '${name}'.`, {
        param: `${path}.functionResponse`,
      });
    return { role: 'tool', tool_call_id: call.id, content: resultText(response ?? {}) };
  }

  #take(isMeant: (call: WaitingCall) => boolean): WaitingCall | undefined {
    const place = this.#waiting.findIndex(isMeant);
    return place === -1 ? undefined : this.#waiting.splice(place, 1)[0];
  }
}

interface WaitingCall {
  readonly id: string;
  readonly name: string;
}

/** The reference calls the field of a plain result `output`. */
function resultText(response: Record<string, unknown>): string {
  const { output, ...others } = response;
  return typeof output === 'string' && Object.keys(others).length === 0 ? output : JSON.stringify(response);
}
