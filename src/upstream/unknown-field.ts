import type { CapField } from '../catalog/catalog.ts';
import type { ChatRequest } from '../wire/openai/chat.ts';
import { UpstreamFailure, type LearnedField } from './port.ts';

/** Fields that Tollgate itself writes into a request, and that a server may not know. */
export interface AddedFields {
  readonly cap?: CapField | undefined;
  readonly streamUsage?: boolean | undefined;
  readonly imageFormat?: boolean | undefined;
}

/** What a backend's refusal taught about one model: how its requests are written from now on. */
export interface LearnedForm {
  /** The other name of the output cap, which is never left out. */
  readonly capField?: CapField | undefined;
  readonly streamUsage?: false | undefined;
  readonly imageFormat?: 'default' | undefined;
}

/**
 * How to ask again after a refusal that says that a field of ours is unknown. `undefined`: it is about something else,
 * or about what the client sent.
 */
export function formWithout(thrown: unknown, added: AddedFields): LearnedForm | undefined {
  if (!(thrown instanceof UpstreamFailure) || thrown.kind !== 'rejected') return undefined;
  if (!SAYS_UNKNOWN.test(thrown.message)) return undefined;
  const named = (field: string): boolean => thrown.param === field || names(thrown.message, field);
  if (added.streamUsage && (named('stream_options') || named('include_usage'))) return { streamUsage: false };
  if (added.imageFormat && named('response_format')) return { imageFormat: 'default' };
  if (added.cap !== undefined && named(added.cap)) return { capField: OTHER_NAME[added.cap] };
  return undefined;
}

export function learnedFields(model: string, form: LearnedForm): LearnedField[] {
  return [
    ...(form.streamUsage === false ? [{ model, field: 'stream_options', instead: undefined }] : []),
    ...(form.imageFormat ? [{ model, field: 'response_format', instead: undefined }] : []),
    ...(form.capField ? [{ model, field: OTHER_NAME[form.capField], instead: form.capField }] : []),
  ];
}

const OTHER_NAME: Record<CapField, CapField> = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
};

/**
 * The words of OpenAI ("Unsupported parameter", "Unknown parameter", "Unrecognized request argument supplied"), of
 * servers that check with pydantic, such as Mistral's and older vLLM ("Extra inputs are not permitted",
 * `extra_forbidden`; https://github.com/avante-corp/avante.nvim/issues/2347), of Groq and others ("property … is
 * unsupported", "not supported") and of JSON schemas ("additional properties").
 */
const SAYS_UNKNOWN =
  /unsupported|not supported|unknown|unrecognized|unexpected|extra[_ ](?:inputs|fields|forbidden)|not permitted|not allowed|additional propert|does not support/i;

/** `max_tokens` is not named by `max_tokens_to_sample`. */
function names(message: string, field: string): boolean {
  return new RegExp(`(?<![\\w])${field}(?![\\w])`).test(message);
}

/** The request without fields that the provider does not take; one that asks for something is refused instead. */
export function supported(request: ChatRequest, unsupported: readonly string[]): ChatRequest {
  let copy: Record<string, unknown> | undefined;
  for (const field of unsupported) {
    const value = request[field];
    if (value === undefined) continue;
    if (!asksForNothing(field, value)) throw notTaken(field);
    copy ??= { ...request };
    copy[field] = undefined;
  }
  return copy ? { ...request, ...copy } : request;
}

/** They say who asks and how it is kept, and change no answer. */
const HINTS: ReadonlySet<string> = new Set([
  'user',
  'store',
  'metadata',
  'prompt_cache_key',
  'safety_identifier',
]);

/** Clients send the default of a field where they could leave it out. */
const DEFAULTS: Readonly<Record<string, unknown>> = { n: 1, service_tier: 'auto', tool_choice: 'auto' };

function asksForNothing(field: string, value: unknown): boolean {
  if (HINTS.has(field) || value === false || value === 0 || value === DEFAULTS[field]) return true;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function notTaken(field: string): UpstreamFailure {
  const publicMessage = `This model's provider does not take ${field}.`;
  return new UpstreamFailure('rejected', publicMessage, { status: 400, publicMessage, param: field });
}
