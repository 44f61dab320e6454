import type { Caller, AccountSnapshot } from '../ledger/port.ts';
import { invalidToken } from '../relay/admission.ts';
import type { RelayParts } from '../relay/call.ts';
import { addressMatcher, isLoopback } from '../std/addresses.ts';
import { Fault } from '../std/fault.ts';
import type { RequestId, TokenHash } from '../std/ids.ts';
import { requireHash, tokenOf, type HashToken } from './credentials.ts';

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
  readonly #isTrusted: (address: string) => boolean;

  constructor(parts: RelayParts, options: CallerAuthOptions) {
    this.parts = parts;
    this.#options = options;
    this.#isTrusted = addressMatcher(options.trustedProxies);
  }

  get trustsProxies(): boolean {
    return this.#options.trustedProxies.length > 0;
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
