import type { Plan, Stage } from './plan.ts';

/**
 * How far one request has come, told between its client and the backend, which share this process. Only the order of
 * events passes here: what is charged travels over the sockets.
 */
export class Cues {
  readonly #leaveAt: Stage;
  readonly #clientStays: boolean;
  readonly #reached = Promise.withResolvers<void>();
  readonly #left = Promise.withResolvers<void>();
  readonly #seen = Promise.withResolvers<void>();
  readonly #goOn = Promise.withResolvers<void>();
  readonly #written = Promise.withResolvers<void>();
  hasLeft = false;
  /** Calls of the backend for this request. */
  calls = 0;

  constructor(plan: Plan) {
    this.#leaveAt = plan.leave;
    this.#clientStays = plan.clientStays ?? false;
  }

  /**
   * The backend has come to a stage; if it is the one at which the client leaves, this waits until it has left. If the client
   * stays, it waits until the gateway has closed the connection.
   */
  async pass(stage: Stage, closed: Promise<void>): Promise<void> {
    if (stage !== this.#leaveAt) return;
    this.#reached.resolve();
    await (this.#clientStays ? Promise.race([closed, this.#goOn.promise]) : this.#left.promise);
  }

  /** The backend need not be silent any longer. */
  goOn(): void {
    this.#goOn.resolve();
  }

  /** Resolves when the backend has come to the stage at which the client leaves. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  left(): void {
    this.hasLeft = true;
    this.#left.resolve();
  }

  /** The client has read what it is to read before the backend breaks off, or has ended without it. */
  sawEnough(): void {
    this.#seen.resolve();
  }

  get enoughSeen(): Promise<void> {
    return this.#seen.promise;
  }

  wroteEverything(): void {
    this.#written.resolve();
  }

  /** The backend has written all but its last event, and the connection takes no more of it for now. */
  get everythingWritten(): Promise<void> {
    return this.#written.promise;
  }
}
