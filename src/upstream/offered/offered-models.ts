import { defaultAddress } from '../../catalog/address.ts';
import type { UpstreamConfig } from '../../catalog/catalog.ts';
import type { OfferedKind, OfferedModel } from '../../catalog/import/abilities.ts';
import { ImportError } from '../../catalog/mistakes.ts';
import { readJsonAnswer } from '../../std/json-answer.ts';
import { MODEL_LIST } from '../answer-rules.ts';
import { connectionFailure, UpstreamFailure } from '../port.ts';
import { failureOf, refuseEncoded } from '../response.ts';

const MAX_MODELS = 5_000;

interface Listing {
  readonly path: string;
  readonly keyHeader: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const BEARER = { keyHeader: 'authorization' };

/**
 * Where each kind lists its models. Sources: https://developers.openai.com/api/reference,
 * https://docs.claude.com/en/api/models-list, https://ai.google.dev/api/models, https://docs.mistral.ai/api/,
 * https://docs.cohere.com/reference/list-models.
 */
const LISTINGS: Readonly<Record<string, Listing>> = {
  openai: { path: '/models', ...BEARER },
  mistral: { path: '/models', ...BEARER },
  anthropic: {
    path: '/models?limit=1000',
    keyHeader: 'x-api-key',
    headers: { 'anthropic-version': '2023-06-01' },
  },
  google: { path: '/models?pageSize=1000', keyHeader: 'x-goog-api-key' },
  // The chat API is v2, its models are listed by v1.
  cohere: { path: '/../v1/models?page_size=1000', ...BEARER },
};

/** Kinds whose backends can be asked for their models. */
export function canListModels({ kind, listsModels, problem }: UpstreamConfig): boolean {
  return Object.hasOwn(LISTINGS, kind) && listsModels !== false && problem === undefined;
}

/** What a backend offers, as it says itself. Throws an {@link ImportError} with the reason. */
export async function offeredModels(config: UpstreamConfig, signal: AbortSignal): Promise<OfferedModel[]> {
  const listing = LISTINGS[config.kind];
  if (config.problem !== undefined) throw new ImportError(`Backend '${config.name}': ${config.problem}.`);
  if (!listing || config.listsModels === false)
    throw new ImportError(`Backend '${config.name}' has no list of models; write them into the catalog.`);
  try {
    return readOffered(await ask(config, listing, signal));
  } catch (thrown) {
    if (!(thrown instanceof UpstreamFailure)) throw thrown;
    throw new ImportError(`Backend '${config.name}' does not list its models: ${sentence(thrown.message)}`);
  }
}

const MAX_TOLD = 300;

/** A provider's message, bounded, with one full stop. */
function sentence(text: string): string {
  return `${text.slice(0, MAX_TOLD).replace(/[.\s]+$/, '')}.`;
}

async function ask(config: UpstreamConfig, listing: Listing, signal: AbortSignal): Promise<unknown> {
  const base = (config.baseUrl ?? defaultAddress(config) ?? '').replace(/\/+$/, '');
  const { apiKey } = config;
  const value = listing.keyHeader === 'authorization' ? `Bearer ${apiKey}` : apiKey;
  const headers = new Headers({
    accept: 'application/json',
    'accept-encoding': 'identity',
    ...listing.headers,
    ...(value === undefined || apiKey === undefined ? {} : { [listing.keyHeader]: value }),
    ...Object.fromEntries(config.headers),
  });
  let response: Response;
  try {
    // A redirect is an error: following it would send the key to another server.
    response = await fetch(new URL(base + listing.path), {
      headers,
      signal,
      redirect: 'manual',
      decompress: false,
    });
  } catch (cause) {
    throw connectionFailure(cause);
  }
  if (!response.ok) throw await failureOf(response);
  await refuseEncoded(response);
  return (await readJsonAnswer(response, MODEL_LIST)).value;
}

/** `data` of OpenAI's and most others, `models` of Google's and Cohere's; Together answers with the list itself. */
function readOffered(body: unknown): OfferedModel[] {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Readonly<Record<string, unknown>>;
  const entries = [body, fields['data'], fields['models']].find((one) => Array.isArray(one));
  if (!entries) throw new UpstreamFailure('protocol', 'its list has no models');
  const models = new Map<string, OfferedModel>();
  for (const entry of (entries as unknown[]).slice(0, MAX_MODELS)) {
    const model = offeredModel(entry);
    if (model) models.set(model.id, model);
  }
  return [...models.values()];
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * One entry of a list of models. OpenAI names nothing but the id; the fields of others are read where they are there:
 * OpenRouter (`context_length`, `top_provider`, `architecture`, `supported_parameters`), Groq (`context_window`,
 * `max_completion_tokens`), Mistral (`max_context_length`, `capabilities`), Together (`type`), Fireworks
 * (`supports_chat`, `supports_tools`), vLLM (`max_model_len`), Anthropic (`display_name`, `max_input_tokens`),
 * Google (`name`, `inputTokenLimit`, `supportedGenerationMethods`) and Cohere (`name`, `endpoints`).
 */
function offeredModel(entry: unknown): OfferedModel | undefined {
  const fields = fieldsOf(entry);
  const named = textOf(fields['id']) ?? textOf(fields['name']);
  if (named === undefined) return undefined;
  return {
    id: named.replace(/^models\//, ''),
    name: textOf(fields['display_name']) ?? textOf(fields['displayName']) ?? ownName(fields),
    contextTokens: countOf(fields, CONTEXT_FIELDS),
    maxOutput:
      countOf(fields, OUTPUT_FIELDS) ?? countOf(fieldsOf(fields['top_provider']), ['max_completion_tokens']),
    ...abilities(fields),
    makes: madeKind(fields),
  };
}

const CONTEXT_FIELDS = [
  'context_length',
  'context_window',
  'max_context_length',
  'max_model_len',
  'max_input_tokens',
  'inputTokenLimit',
] as const;
const OUTPUT_FIELDS = [
  'max_completion_tokens',
  'max_output_tokens',
  'max_tokens',
  'outputTokenLimit',
] as const;

/** The name of an entry that also has an id. */
function ownName(fields: Fields): string | undefined {
  return fields['id'] === undefined ? undefined : textOf(fields['name']);
}

function abilities(fields: Fields): Pick<OfferedModel, 'vision' | 'tools' | 'reasoning'> {
  const capabilities = fieldsOf(fields['capabilities']);
  const inputs = listOf(fieldsOf(fields['architecture'])['input_modalities']);
  const parameters = listOf(fields['supported_parameters']);
  return {
    vision:
      inputs?.includes('image') ??
      flagOf(capabilities['vision']) ??
      flagOf(fieldsOf(capabilities['image_input'])['supported']) ??
      flagOf(fields['supports_image_input']),
    tools:
      parameters?.includes('tools') ??
      flagOf(capabilities['function_calling']) ??
      flagOf(fields['supports_tools']),
    reasoning:
      parameters?.includes('reasoning') ?? flagOf(capabilities['reasoning']) ?? flagOf(fields['thinking']),
  };
}

function madeKind(fields: Fields): OfferedKind | undefined {
  const outputs = listOf(fieldsOf(fields['architecture'])['output_modalities']);
  if (outputs) return outputs.includes('text') ? 'chat' : outputs.includes('image') ? 'image' : 'other';
  const methods = listOf(fields['supportedGenerationMethods']) ?? listOf(fields['endpoints']);
  if (methods) {
    if (methods.includes('generateContent') || methods.includes('chat')) return 'chat';
    return methods.includes('embedContent') || methods.includes('embed') ? 'embedding' : 'other';
  }
  const chats =
    flagOf(fieldsOf(fields['capabilities'])['completion_chat']) ?? flagOf(fields['supports_chat']);
  // Mistral's embedding models are marked only by having no chat.
  if (chats !== undefined)
    return chats ? 'chat' : /embed/i.test(String(fields['id'])) ? 'embedding' : 'other';
  const type = textOf(fields['type']);
  if (type === undefined || type === 'model') return undefined;
  if (type === 'embedding' || type === 'image') return type;
  return type === 'chat' || type === 'language' || type === 'code' ? 'chat' : 'other';
}

function fieldsOf(value: unknown): Fields {
  return (typeof value === 'object' && value !== null ? value : {}) as Fields;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function flagOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

function listOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? (value as unknown[]) : undefined;
}

function countOf(fields: Fields, names: readonly string[]): number | undefined {
  const found = names
    .map((name) => fields[name])
    .find((value) => Number.isInteger(value) && Number(value) > 0);
  return found === undefined ? undefined : Number(found);
}
