import { Fault } from '../std/fault.ts';
import type { TokenHash } from '../std/ids.ts';

/** Turns what a client shows into the hash that the store knows; `undefined` for what cannot be a token of ours. */
export type HashToken = (token: string) => TokenHash | undefined;

/**
 * The token of a request: `Authorization: Bearer`, `x-api-key`, or `?token=`. Two that differ are refused, because one of
 * them would be ignored and nobody could tell which.
 */
export function tokenOf(request: Request): string | undefined {
  const { headers } = request;
  const authorization = headers.get('authorization');
  const apiKey = headers.get('x-api-key');
  const query = request.url.includes('token=') ? queryTokens(request.url) : NONE;
  if (query.length === 0 && apiKey === null)
    return authorization === null ? undefined : bearer(authorization);
  if (query.length === 0 && authorization === null) return apiKey ?? undefined;
  const shown = [
    ...(authorization === null ? [] : [bearer(authorization)]),
    ...(apiKey === null ? [] : [apiKey]),
    ...query,
  ];
  if (new Set(shown).size > 1) throw invalid('Two different tokens were sent. Send one.');
  return shown[0];
}

const NONE: string[] = [];
const BEARER = 'Bearer ';

/** Read from the text: a request with a strange Host header has no URL that could be parsed as one. */
function queryTokens(url: string): string[] {
  const query = url.indexOf('?');
  return query === -1 ? NONE : new URLSearchParams(url.slice(query + 1)).getAll('token');
}

export function requireHash(token: string | undefined, hash: HashToken): TokenHash {
  if (token === undefined || token === '') {
    throw new Fault('missing_token', 'Send your API token as `Authorization: Bearer sk-…`.');
  }
  const known = hash(token);
  if (known === undefined) throw invalid('This is not a valid API token.');
  return known;
}

function bearer(header: string): string {
  // As nearly every client writes it; the pattern is for the others.
  if (header.startsWith(BEARER) && !header.includes(' ', BEARER.length)) return header.slice(BEARER.length);
  const match = /^Bearer +(\S+) *$/i.exec(header);
  if (!match?.[1]) throw invalid('The Authorization header must be `Bearer sk-…`.');
  return match[1];
}

function invalid(message: string): Fault {
  return new Fault('invalid_token', message);
}
