import type { RequestId } from '../../std/ids.ts';

/**
 * Admissions whose result is unknown: the connection broke while they were being committed, and the client was told to
 * try again. If a hold appears after all, it is voided by its id; the admission is never repeated blindly. What does
 * not fit here any more, or appears later still, is closed when its lease ends.
 */
export class UncertainAdmissions {
  readonly #until = new Map<RequestId, number>();
  readonly #voidFound: (ids: readonly RequestId[]) => Promise<ReadonlySet<string>>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  /** `voidFound` voids the holds among these ids that exist and returns which they were; it may fail. */
  constructor(voidFound: (ids: readonly RequestId[]) => Promise<ReadonlySet<string>>) {
    this.#voidFound = voidFound;
  }

  add(id: RequestId): void {
    if (this.#closed || this.#until.size >= MOST) return;
    this.#until.set(id, performance.now() + REMEMBERED_MS);
    this.#timer ??= setTimeout(() => void this.#look(), LOOK_EVERY_MS);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    try {
      const found = await this.#voidFound([...this.#until.keys()].slice(0, MOST_TOGETHER));
      const now = performance.now();
      for (const [id, until] of this.#until) if (found.has(id) || until < now) this.#until.delete(id);
    } catch {
      // The database is still unavailable. Their age does not count meanwhile: a statement may still be waiting to
      // run.
      for (const id of this.#until.keys()) this.#until.set(id, performance.now() + REMEMBERED_MS);
    }
    this.#timer = undefined;
    if (this.#until.size > 0 && !this.#closed)
      this.#timer = setTimeout(() => void this.#look(), LOOK_EVERY_MS);
  }
}

const MOST = 10_000;
const MOST_TOGETHER = 500;
const LOOK_EVERY_MS = 250;
/** Many times longer than the database works on a statement. */
const REMEMBERED_MS = 10_000;
