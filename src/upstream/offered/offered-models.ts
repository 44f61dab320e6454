import { defaultAddress } from '../../catalog/address.ts';
import type { UpstreamConfig } from '../../catalog/catalog.ts';
import type { OfferedModel } from '../../catalog/import/abilities.ts';
import { ImportError } from '../../catalog/import/import-error.ts';
import { readBounded } from '../../std/bounded-body.ts';
import { connectionFailure, UpstreamFailure } from '../port.ts';
import { answerTooLarge, failureOf, refuseEncoded } from '../response.ts';
import { offeredModel } from './offered-entry.ts';

/** OpenRouter's list of all its models has about one megabyte. */
const MAX_LIST_BYTES = 32 * 1_048_576;
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
    throw new ImportError(`Backend '${config.name}' does not list its models: ${thrown.message}.`);
  }
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
  const bytes = await readBounded(response, MAX_LIST_BYTES, answerTooLarge);
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new UpstreamFailure('protocol', 'its list is not JSON');
  }
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
