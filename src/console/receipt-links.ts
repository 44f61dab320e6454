import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../std/clock.ts';

const DAY_MS = 86_400_000;
const SHAPE = /^(req_[0-9A-Za-z]{24})\.([0-9a-z]{1,8})\.([\w-]{43})$/;

/** Codes that open one receipt to whoever has them, until they expire. They are signed, so nothing is stored about them. */
export class ReceiptLinks {
  readonly #key: Uint8Array;
  readonly #clock: Clock;

  constructor({ key, clock }: { readonly key: Uint8Array; readonly clock: Clock }) {
    this.#key = key;
    this.#clock = clock;
  }

  create(requestId: string, days: number): { readonly code: string; readonly expiresAt: number } {
    const expires = Math.floor((this.#clock.now() + days * DAY_MS) / 1000);
    const signed = `${requestId}.${expires.toString(36)}`;
    return { code: `${signed}.${this.#sign(signed)}`, expiresAt: expires * 1000 };
  }

  /** `undefined`: we did not make this code, or it has expired. */
  open(code: string): { readonly requestId: string; readonly expiresAt: number } | undefined {
    const [, requestId, expires, signature] = SHAPE.exec(code) ?? [];
    if (requestId === undefined || expires === undefined || signature === undefined) return undefined;
    const expected = this.#sign(`${requestId}.${expires}`);
    if (!timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) return undefined;
    const expiresAt = Number.parseInt(expires, 36) * 1000;
    return expiresAt > this.#clock.now() ? { requestId, expiresAt } : undefined;
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}
