import { openAiError, openAiWire, type OpenAiAnswers } from './openai-wire.ts';
import {
  bearerKey,
  fieldsOf,
  listOf,
  StandIn,
  textOf,
  unknownField,
  type ProviderWire,
  type Fields,
  type Refusal,
} from './stand-in.ts';

/** A provider that speaks OpenAI's API in its own way, as data. What it does not document it refuses in its own words. */
export interface StrictProvider extends OpenAiAnswers {
  readonly preset: string;
  /** The models that it has; a name that is not here does not exist. */
  readonly models: Readonly<Record<string, StrictModel>>;
  /** The documented fields of a chat request, several to a line. */
  readonly fields: readonly string[];
  readonly unknown: (field: string, value: unknown) => Refusal;
  readonly error?: (refusal: Refusal) => unknown;
  /** The types that `response_format` may have; absent: all of OpenAI's. */
  readonly formats?: { readonly types: readonly string[]; readonly refusal: string };
  /** The address of a picture may stand alone, without an object around it. */
  readonly takesBareAddresses?: true;
  /** The refusal of content that is not text; absent: pictures are taken. */
  readonly textOnly?: string;
  /** What else it refuses: wrong combinations and values. */
  readonly rules?: (body: Fields) => Refusal | undefined;
  readonly source: string;
}

export interface StrictModel {
  readonly maxOutput: number;
  /** Whether it thinks before it answers. */
  readonly thinks?: true;
  /** Documented fields that this model does not take, with the words. */
  readonly refuses?: { readonly fields: readonly string[]; readonly words: (field: string) => string };
}

const MESSAGE_FIELDS = ['role content name tool_calls tool_call_id reasoning reasoning_content refusal'];
const REASONING_TOKENS = 5;

/** The provider over real HTTP. */
export class StrictServer extends StandIn {
  constructor(provider: StrictProvider, deployments?: Readonly<Record<string, string>>) {
    super(strictWire(provider), deployments);
  }
}

function strictWire(provider: StrictProvider): ProviderWire {
  const wire = openAiWire({
    path: '/v1',
    reasoningTokens: REASONING_TOKENS,
    answers: provider,
    thinks: ({ model }) => provider.models[model]?.thinks === true,
    refusal: ({ body, model }) => chatRefusalOf(provider, body, model),
    error: provider.error ?? openAiError,
  });
  const data = Object.keys(provider.models).map((id) => ({ id, object: 'model' }));
  return {
    ...wire,
    other: (call) => {
      const isList = call.request.method === 'GET' && call.url.pathname === '/v1/models' && !bearerKey(call);
      return Promise.resolve(isList ? Response.json({ object: 'list', data }) : undefined);
    },
  };
}

function chatRefusalOf(provider: StrictProvider, body: Fields, name: string): Refusal | undefined {
  const unknown = unknownField(body, provider.fields);
  if (unknown !== undefined) return provider.unknown(unknown, body[unknown]);
  const model = provider.models[name];
  if (!model)
    return {
      status: 404,
      code: 'model_not_found',
      message: `The model ${name} does not exist or you do not have access to it.`,
    };
  return (
    messagesRefusalOf(provider, body) ??
    capRefusalOf(body, model) ??
    modelRefusal(body, model) ??
    formatRefusal(provider, body) ??
    provider.rules?.(body)
  );
}

function messagesRefusalOf(
  provider: StrictProvider,
  { messages, stream, stream_options }: Fields,
): Refusal | undefined {
  if (!Array.isArray(messages) || messages.length === 0) return bad('messages', 'messages must not be empty');
  if (stream_options !== undefined && stream !== true)
    return bad('stream_options', 'stream_options is only allowed when stream is enabled');
  for (const message of listOf(messages)) {
    const unknown = unknownField(message, MESSAGE_FIELDS);
    if (unknown !== undefined) return provider.unknown(`messages.${unknown}`, message[unknown]);
    const parts = Array.isArray(message['content']) ? listOf(message['content']) : [];
    const refusal = parts.map((part) => partRefusal(provider, part)).find((one) => one !== undefined);
    if (refusal) return refusal;
  }
  return undefined;
}

function partRefusal(provider: StrictProvider, part: Fields): Refusal | undefined {
  const { textOnly, unknown, takesBareAddresses } = provider;
  if (textOnly !== undefined && part['type'] !== 'text') return bad('messages', textOnly);
  const foreign = unknownField(part, ['type text image_url']);
  if (foreign !== undefined) return unknown(`messages.content.${foreign}`, part[foreign]);
  if (part['type'] !== 'image_url') return undefined;
  const image = part['image_url'];
  const url = typeof image === 'string' && takesBareAddresses ? image : textOf(fieldsOf(image)['url']);
  return /^(?:data:image\/\w+;base64,\S+|https:)/.test(url)
    ? undefined
    : bad('messages', 'image_url must be a data or https address');
}

function capRefusalOf(body: Fields, { maxOutput }: StrictModel): Refusal | undefined {
  const given = ['max_tokens', 'max_completion_tokens'].filter((field) => body[field] !== undefined);
  for (const field of given) {
    const cap = body[field];
    if (!Number.isInteger(cap) || Number(cap) < 1) return bad(field, `${field} must be a positive integer`);
    if (Number(cap) > maxOutput) return bad(field, `${field} must be at most ${maxOutput} for this model`);
  }
  return given.length === 2
    ? bad('max_tokens', 'set one of max_tokens and max_completion_tokens')
    : undefined;
}

function modelRefusal(body: Fields, { refuses }: StrictModel): Refusal | undefined {
  const field = refuses?.fields.find((name) => body[name] !== undefined);
  return refuses && field !== undefined ? bad(field, refuses.words(field)) : undefined;
}

function formatRefusal({ formats }: StrictProvider, { response_format }: Fields): Refusal | undefined {
  if (response_format === undefined) return undefined;
  const type = textOf(fieldsOf(response_format)['type']);
  const types = formats?.types ?? ['text', 'json_object', 'json_schema'];
  if (!types.includes(type))
    return bad('response_format', formats?.refusal ?? `unknown response_format ${type}`);
  const schema = fieldsOf(fieldsOf(response_format)['json_schema'])['schema'];
  return type === 'json_schema' && schema === undefined
    ? bad('response_format', 'json_schema needs a schema')
    : undefined;
}

export function bad(param: string, message: string, status = 400): Refusal {
  return { status, message, param, code: null };
}
