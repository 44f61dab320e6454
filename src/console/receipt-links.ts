import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../std/clock.ts';

const DAY_MS = 86_400_000;
/** Links of earlier versions have no id; the last of them expires thirty days after the upgrade. */
const SHAPE = /^(req_[0-9A-Za-z]{24})\.([0-9a-z]{1,8})(?:\.([\w-]{16}))?\.([\w-]{43})$/;

export interface OpenedLink {
  readonly requestId: string;
  readonly expiresAt: number;
  /** Its row; absent for a link that was made before there were rows. */
  readonly id: string | undefined;
}

/** Codes that open one receipt to whoever has them, until they expire. They are signed: nobody can make one from what is stored. */
export class ReceiptLinks {
  readonly #key: Uint8Array;
  readonly #clock: Clock;

  constructor({ key, clock }: { readonly key: Uint8Array; readonly clock: Clock }) {
    this.#key = key;
    this.#clock = clock;
  }

  create(
    requestId: string,
    days: number,
  ): Required<OpenedLink> & { readonly id: string; readonly code: string } {
    const expires = Math.floor((this.#clock.now() + days * DAY_MS) / 1000);
    const id = randomBytes(12).toString('base64url');
    const signed = `${requestId}.${expires.toString(36)}.${id}`;
    return { requestId, id, code: `${signed}.${this.#sign(signed)}`, expiresAt: expires * 1000 };
  }

  /** `undefined`: we did not make this code, or it has expired. */
  open(code: string): OpenedLink | undefined {
    const [, requestId, expires, id, signature] = SHAPE.exec(code) ?? [];
    if (requestId === undefined || expires === undefined || signature === undefined) return undefined;
    const expected = this.#sign([requestId, expires, ...(id === undefined ? [] : [id])].join('.'));
    if (!timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) return undefined;
    const expiresAt = Number.parseInt(expires, 36) * 1000;
    return expiresAt > this.#clock.now() ? { requestId, expiresAt, id } : undefined;
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}
