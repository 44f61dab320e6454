import type { Caller, AccountSnapshot } from '../ledger/port.ts';
import { invalidToken } from '../relay/admission.ts';
import type { RelayParts } from '../relay/call.ts';
import { addressMatcher, isLoopback } from '../std/addresses.ts';
import { Fault } from '../std/fault.ts';
import type { RequestId, TokenHash } from '../std/ids.ts';

/** One HTTP request, with what a handler needs to know about its connection. */
export interface Exchange {
  readonly request: Request;
  readonly requestId: RequestId;
  /** Slashes collapsed, query cut off. */
  readonly path: string;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** What the client calls us, for links: scheme and host. */
  readonly origin: string;
  /** The client's own address, as far as trusted proxies tell. */
  readonly address: string;
  /** Path parameters, in order. */
  readonly parameters: readonly string[];
}

/** Turns what a client shows into the hash that the store knows; `undefined` for what cannot be a token of ours. */
type HashToken = (token: string) => TokenHash | undefined;

export interface CallerAuthOptions {
  readonly hashToken: HashToken;
  readonly trustedProxies: readonly string[];
  /** A token came over plain HTTP: somebody may have read it. */
  onExposed(hash: TokenHash): void;
}

/** Authenticates callers and requires HTTPS. */
export class CallerAuth {
  readonly parts: RelayParts;
  readonly #options: CallerAuthOptions;
  #isTrusted: (address: string) => boolean;
  #trustsProxies: boolean;

  constructor(parts: RelayParts, options: CallerAuthOptions) {
    this.parts = parts;
    this.#options = options;
    this.#isTrusted = addressMatcher(options.trustedProxies);
    this.#trustsProxies = options.trustedProxies.length > 0;
  }

  /** From the next request on, these and no others are believed. */
  trustProxies(ranges: readonly string[]): void {
    this.#isTrusted = addressMatcher(ranges);
    this.#trustsProxies = ranges.length > 0;
  }

  get trustsProxies(): boolean {
    return this.#trustsProxies;
  }

  /** The caller of a public request; whether the token is known is the ledger's to say. */
  caller({ request }: Exchange): Caller {
    return { kind: 'token', hash: requireHash(tokenOf(request), this.#options.hashToken) };
  }

  /** For routes that work without a token: `undefined` when none was sent, 401 for one that cannot be. */
  optionalCaller(exchange: Exchange): Caller | undefined {
    return tokenOf(exchange.request) === undefined ? undefined : this.caller(exchange);
  }

  /** The account behind a caller, or 401. */
  async account(caller: Caller): Promise<AccountSnapshot> {
    const snapshot = await this.parts.ledger.identify(caller);
    if (!snapshot) throw invalidToken();
    return snapshot;
  }

  /** The client behind trusted proxies: the last forwarded address that is not a proxy of ours. */
  clientAddress(peer: string, request: Request): string {
    if (!this.#isTrusted(peer)) return peer;
    const forwarded =
      request.headers
        .get('x-forwarded-for')
        ?.split(',')
        .map((one) => one.trim()) ?? [];
    return forwarded.findLast((address) => !this.#isTrusted(address)) ?? peer;
  }

  /** https as the client sees it: our own TLS, or the word of a proxy that the operator trusts. */
  isSecure(peer: string, request: Request): boolean {
    if (request.url.startsWith('https:')) return true;
    return (
      this.#isTrusted(peer) && request.headers.get('x-forwarded-proto')?.split(',')[0]?.trim() === 'https'
    );
  }

  /**
   * Plain HTTP is for loopback. No redirect: the token has been on the wire already, so its owner is told, and a client
   * that silently followed would send it again each time.
   */
  requireSecure(peer: string, request: Request): void {
    if (this.isSecure(peer, request)) return;
    if (isLoopback(peer) && !this.#isForwarded(peer, request)) return;
    this.#markExposed(request);
    throw new Fault('https_required', 'Use https. A token that was sent over plain HTTP should be replaced.');
  }

  /** A trusted proxy on this very machine speaks for somebody else. */
  #isForwarded(peer: string, request: Request): boolean {
    return this.#isTrusted(peer) && request.headers.has('x-forwarded-proto');
  }

  #markExposed(request: Request): void {
    try {
      const hash = this.#options.hashToken(tokenOf(request) ?? '');
      if (hash) this.#options.onExposed(hash);
    } catch {
      // Two different tokens, or none that is one: nothing of ours was exposed.
    }
  }
}

/**
 * The token of a request: `Authorization: Bearer`, `x-api-key`, or `?token=`. Two that differ are refused, because one of
 * them would be ignored and nobody could tell which.
 */
function tokenOf(request: Request): string | undefined {
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

function requireHash(token: string | undefined, hash: HashToken): TokenHash {
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
