import { createHash, timingSafeEqual } from 'node:crypto';
import { isLoopback } from '../std/addresses.ts';
import { Fault } from '../std/fault.ts';
import type { IncomingRequest } from './incoming-request.ts';

/** What a proxy adds: then whoever asks is not on this machine, although the connection comes from it. */
const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'];

/** Metrics tell what a business earns: whoever is on this machine may read them, others only with the operator's token. */
export class MetricsGuard {
  readonly #token: Buffer | undefined;

  constructor(token: string | undefined) {
    this.#token = token === undefined ? undefined : digest(token);
  }

  /** Throws unless the metrics may be read. */
  check({ peer, request }: Pick<IncomingRequest, 'peer' | 'request'>): void {
    if (isLoopback(peer) && !FORWARDED.some((name) => request.headers.has(name))) return;
    // Without a token nobody else may ever read them, so nobody is told that they are here.
    if (!this.#token) throw new Fault('not_found', 'There is nothing at this path.');
    const [, given] = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
    if (given === undefined)
      throw new Fault('missing_token', 'Send the token for metrics as `Authorization: Bearer …`.');
    if (!timingSafeEqual(digest(given), this.#token))
      throw new Fault('invalid_token', 'The token for metrics is not valid.');
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
