import { rateState } from '../ledger/decide.ts';
import type { Caller, AccountSnapshot, RateState } from '../ledger/port.ts';
import { identified, RefusedRequest, type IdentifyingParts } from '../relay/admission.ts';
import { addressMatcher, isLoopback, parseAddress } from '../std/addresses.ts';
import { Fault, tooManyRequests } from '../std/fault.ts';
import type { TokenHash, AccountId } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import { pathOf, type IncomingRequest } from './router.ts';

/** Turns a token into the hash that is stored; `undefined` if it cannot be one of our tokens. */
type HashToken = (token: string) => TokenHash | undefined;

interface CallerAuthOptions {
  readonly hashToken: HashToken;
  readonly trustedProxies: readonly string[];
  readonly log?: Log | undefined;
  /** A token was sent over plain HTTP, where others may have read it. */
  onExposed(hash: TokenHash): void;
}

/** Authenticates callers and requires HTTPS. */
export class CallerAuth {
  readonly #parts: IdentifyingParts;
  readonly #options: CallerAuthOptions;
  #freeCalls: FreeCallRate | undefined;
  #isTrusted: (address: string) => boolean;
  #trustsProxies: boolean;
  #hasSilentProxy = false;

  constructor(parts: IdentifyingParts, options: CallerAuthOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#isTrusted = addressMatcher(options.trustedProxies);
    this.#trustsProxies = options.trustedProxies.length > 0;
  }

  /** Replaces the trusted proxies, from the next request on. */
  trustProxies(ranges: readonly string[]): void {
    this.#isTrusted = addressMatcher(ranges);
    this.#trustsProxies = ranges.length > 0;
  }

  get trustsProxies(): boolean {
    return this.#trustsProxies;
  }

  /** The caller of a public request. Whether the token exists is decided by the ledger. */
  caller(incoming: IncomingRequest): Caller {
    return new TokenCaller(requireHash(tokenOf(incoming.request), this.#options.hashToken), incoming);
  }

  /** For routes that work without a token: `undefined` when none was sent, 401 for one that cannot be valid. */
  optionalCaller(incoming: IncomingRequest): Caller | undefined {
    return tokenOf(incoming.request) === undefined ? undefined : this.caller(incoming);
  }

  /** The account behind a caller, or 401. */
  async account(caller: Caller): Promise<AccountSnapshot> {
    return await identified(caller, this.#parts);
  }

  /** The account behind a caller of a free operation, which counts against its rate: 401, or 429. */
  async freeCaller(caller: Caller): Promise<{ readonly account: AccountSnapshot; readonly rate: RateState }> {
    const account = await this.account(caller);
    const limit = account.limits.chatPerMinute ?? this.#parts.catalog().limits.chatPerMinute;
    this.#freeCalls ??= new FreeCallRate();
    return { account, rate: this.#freeCalls.count(account, limit) };
  }

  /**
   * The client behind trusted proxies: the last forwarded address that is not a trusted proxy. Where a proxy forwards
   * something that is no address, the proxy counts as the client: nobody gets a new address by what they write.
   */
  clientAddress(peer: string, request: Request): string {
    if (!this.#trustsProxies || !this.#isTrusted(peer)) return peer;
    const { hops, client } = this.#forwardedFor(request);
    return client ?? hops[0] ?? peer;
  }

  /** Who is forwarded for: the trusted proxies nearest to this server, first the farthest, and the client before them. */
  #forwardedFor(request: Request): { readonly hops: string[]; readonly client: string | undefined } {
    const addresses = listOf(request.headers.get('x-forwarded-for')).map(parseAddress);
    const last = addresses.findLastIndex((address) => address === undefined || !this.#isTrusted(address));
    return { hops: addresses.slice(last + 1).filter((one) => one !== undefined), client: addresses[last] };
  }

  /** Whether the client uses HTTPS: our own TLS, or as a trusted proxy reports it. */
  isSecure(peer: string, request: Request): boolean {
    if (request.url.startsWith('https:')) return true;
    if (!this.#isTrusted(peer)) return false;
    if (!request.headers.has('x-forwarded-proto')) this.#tellSilentProxy(peer);
    // Each proxy appends what it saw. Only the last ones are trusted: the first may be the client's own words.
    return this.#forwardedProto(request) === 'https';
  }

  /**
   * Logged once, not for each request: behind a proxy that is set up like this, every request is refused or taken for
   * local.
   */
  #tellSilentProxy(peer: string): void {
    if (this.#hasSilentProxy) return;
    this.#hasSilentProxy = true;
    this.#options.log?.warn('proxy_without_forwarded_proto', { proxy: peer, missing: 'x-forwarded-proto' });
  }

  /** The scheme at the first trusted proxy: as many from the end as there are trusted hops in `X-Forwarded-For`. */
  #forwardedProto(request: Request): string | undefined {
    const schemes = listOf(request.headers.get('x-forwarded-proto'));
    const { hops } = this.#forwardedFor(request);
    const index = schemes.length - 1 - Math.min(hops.length, schemes.length - 1);
    return schemes[index]?.toLowerCase();
  }

  /**
   * Plain HTTP is for loopback. It is refused, not redirected: the token has already been exposed, so its owner is
   * told, and a client that silently followed the redirect would expose it with every request.
   */
  requireSecure(peer: string, request: Request): void {
    if (this.isSecure(peer, request)) return;
    if (isLoopback(peer) && !this.#isForwarded(peer, request)) return;
    this.#markExposed(request);
    throw new Fault('https_required', 'Use https. A token that was sent over plain HTTP should be replaced.');
  }

  /** A trusted proxy on the same machine forwards requests of others. */
  #isForwarded(peer: string, request: Request): boolean {
    return this.#isTrusted(peer) && request.headers.has('x-forwarded-proto');
  }

  #markExposed(request: Request): void {
    try {
      const hash = this.#options.hashToken(tokenOf(request) ?? '');
      if (hash) this.#options.onExposed(hash);
    } catch {
      // Two different tokens, or a malformed one: no valid token was exposed.
    }
  }
}

/** The system is asked for its address only where somebody wants it: most tokens may be used from everywhere. */
class TokenCaller {
  readonly kind = 'token';
  readonly hash: TokenHash;
  readonly #incoming: IncomingRequest;
  #address: string | undefined;

  constructor(hash: TokenHash, incoming: IncomingRequest) {
    this.hash = hash;
    this.#incoming = incoming;
  }

  get address(): string {
    // What is no address is in no network but that of all.
    return (this.#address ??= parseAddress(this.#incoming.address) ?? '::');
  }
}

function listOf(header: string | null): string[] {
  return header?.split(',').map((one) => one.trim()) ?? [];
}

/**
 * The token of a request: `Authorization: Bearer`, `x-api-key`, or `?token=`; where Google's clients call, also
 * `x-goog-api-key` and `?key=`. Two that differ are refused, because one of them would be silently ignored.
 */
function tokenOf(request: Request): string | undefined {
  const { headers } = request;
  const authorization = headers.get('authorization');
  const apiKey = headers.get('x-api-key');
  const { url } = request;
  const query = MAY_HAVE_OTHERS.test(url) ? otherTokens(request) : NO_TOKENS;
  if (query.length === 0 && apiKey === null)
    return authorization === null ? undefined : bearerToken(authorization);
  if (query.length === 0 && authorization === null) return apiKey ?? undefined;
  const tokens = [
    ...(authorization === null ? [] : [bearerToken(authorization)]),
    ...(apiKey === null ? [] : [apiKey]),
    ...query,
  ];
  if (new Set(tokens).size > 1) throw malformedToken('Two different tokens were sent. Send one.');
  return tokens[0];
}

const NO_TOKENS: string[] = [];
const BEARER = 'Bearer ';

/** Below `/v1/models` only these are Google's. */
const GOOGLE_PATH = /^\/v1beta\/|^\/v1\/models\/.+:(?:g|streamG)enerateContent$/;
const MAY_HAVE_OTHERS = /token=|\/v1beta\/|:(?:g|streamG)enerateContent/;

/** The query is searched as text: with a malformed Host header the URL cannot be parsed. */
function otherTokens({ url, headers }: Request): string[] {
  const start = url.indexOf('?');
  const query = new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
  const tokens = query.getAll('token');
  if (!GOOGLE_PATH.test(pathOf(url))) return tokens;
  const googleKey = headers.get('x-goog-api-key');
  return [...tokens, ...query.getAll('key'), ...(googleKey === null ? [] : [googleKey])];
}

function requireHash(token: string | undefined, hash: HashToken): TokenHash {
  if (token === undefined || token === '') {
    throw new Fault('missing_token', 'Send your API token as `Authorization: Bearer sk-…`.');
  }
  const known = hash(token);
  if (known === undefined) throw malformedToken('This is not a valid API token.');
  return known;
}

function bearerToken(header: string): string {
  // The form that nearly all clients send; the pattern handles the rest.
  if (header.startsWith(BEARER) && !header.includes(' ', BEARER.length)) return header.slice(BEARER.length);
  const match = /^Bearer +(\S+) *$/i.exec(header);
  if (!match?.[1]) throw malformedToken('The Authorization header must be `Bearer sk-…`.');
  return match[1];
}

function malformedToken(message: string): Fault {
  return new Fault('invalid_token', message);
}

/** The most accounts that are remembered; beyond it all are forgotten. */
const MOST_ACCOUNTS = 10_000;

/**
 * Limits calls that cost nothing and are not in the ledger, but take work: quotes and counts of tokens. An account may
 * make as many of them as chats, on each node, and none while its chats are at their limit.
 */
class FreeCallRate {
  /** When the next call of each account would be due, in microseconds, as for the limits of the ledger. */
  readonly #arrivals = new Map<AccountId, number>();

  /** Counts one call, or throws `rate_limit_exceeded`. */
  count({ accountId, arrivals, now }: AccountSnapshot, limit: number): RateState {
    const nowUs = now * 1000;
    const stepUs = Math.ceil(60_000_000 / limit);
    const arrivalUs = Math.max(nowUs, arrivals.chat, this.#arrivals.get(accountId) ?? 0);
    const waitUs = arrivalUs + stepUs - nowUs - stepUs * limit;
    if (waitUs > 0) {
      const retryAfterMs = Math.ceil(waitUs / 1000);
      throw new RefusedRequest(tooManyRequests(retryAfterMs), rateState(limit, arrivalUs, nowUs));
    }
    if (this.#arrivals.size >= MOST_ACCOUNTS) this.#arrivals.clear();
    this.#arrivals.set(accountId, arrivalUs + stepUs);
    return rateState(limit, arrivalUs + stepUs, nowUs);
  }
}
