import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { ErrorFormat } from '../http/response.ts';
import { API_HEADERS } from './security.ts';

/** A JSON response with the headers of the console's API. */
export function answer(value: unknown, requestId: string, headers: Record<string, string> = {}): Response {
  return Response.json(value, { headers: { ...API_HEADERS, 'x-request-id': requestId, ...headers } });
}

/** The same for a list: compressed as the client takes it. */
export async function listAnswer(value: object, requestId: string, request: Request): Promise<Response> {
  const encoding = encodingFor(request.headers.get('accept-encoding'));
  const { body, isEncoded } = await writtenOnce(value, encoding);
  return new Response(body, {
    headers: {
      ...API_HEADERS,
      'x-request-id': requestId,
      'content-type': 'application/json;charset=utf-8',
      vary: 'accept-encoding',
      ...(encoding && isEncoded && { 'content-encoding': encoding }),
    },
  });
}

interface WrittenList {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly isEncoded: boolean;
}

/**
 * The text or compressed form of a value, for as long as its route keeps the value: a list of thousands is serialised
 * once.
 */
const written = new WeakMap<object, Map<ContentEncoding | undefined, Promise<WrittenList>>>();

function writtenOnce(value: object, encoding: ContentEncoding | undefined): Promise<WrittenList> {
  const forms = written.get(value) ?? new Map<ContentEncoding | undefined, Promise<WrittenList>>();
  const known = forms.get(encoding);
  if (known) return known;
  const list = write(value, encoding);
  list.catch(() => forms.delete(encoding));
  written.set(value, forms.set(encoding, list));
  return list;
}

async function write(value: object, encoding: ContentEncoding | undefined): Promise<WrittenList> {
  const text = JSON.stringify(value);
  const bytes = encoding && (await compressedJson(text, encoding));
  return { body: bytes ?? text, isEncoded: bytes !== undefined };
}

/** Adds the API's headers to a response that a handler made itself. */
export function withApiHeaders(response: Response, requestId: string): Response {
  for (const [name, value] of Object.entries({ ...API_HEADERS, 'x-request-id': requestId })) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}

/** The console may say 503 where the public API's documented list has only 500. */
export const CONSOLE_ERRORS: ErrorFormat = {
  status: ({ code, status }) => (code === 'service_unavailable' && status === 500 ? 503 : status),
  headers: (requestId) => ({ ...API_HEADERS, 'x-request-id': requestId }),
  body: ({ code, message, param, retryAfterMs, extra }) => {
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs: Math.ceil(retryAfterMs) };
    return { error: { code, message, param: param ?? null, ...wait, ...extra } };
  },
};

/** Smaller answers fit into a packet or two as they are. */
const LEAST_CHARACTERS = 1_400;
/** Higher ones take several times as long for a few percent. */
const GZIP = { level: 5 };
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

const toGzip = promisify(gzip);
const toBrotli = promisify(brotliCompress);

type ContentEncoding = 'br' | 'gzip';

/** The encoding to use for a client, by its `Accept-Encoding`; `undefined`: none. */
export function encodingFor(accepted: string | null): ContentEncoding | undefined {
  const names = new Set(
    (accepted ?? '')
      .toLowerCase()
      .split(',')
      .map((one) => one.split(';').map((part) => part.trim()))
      .filter(([, weight]) => weight === undefined || !/^q=0(?:\.0*)?$/.test(weight))
      .map(([name]) => name),
  );
  if (names.has('br')) return 'br';
  return names.has('gzip') ? 'gzip' : undefined;
}

/** Compressed on another thread, so that nobody else waits. `undefined`: it is too short to gain by it. */
export async function compressedJson(
  text: string,
  encoding: ContentEncoding,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (text.length < LEAST_CHARACTERS) return undefined;
  const bytes = await (encoding === 'br' ? toBrotli(text, BROTLI) : toGzip(text, GZIP));
  return new Uint8Array(bytes);
}
