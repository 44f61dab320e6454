import type { Reply } from './backend.ts';
import type { AccountOptions } from './gateway.ts';
import type { Message } from './message.ts';

/** One recorded story: what a client sends, what backends answer, and so what everybody gets. */
export interface GoldenCase {
  /** `operation/what-happens`: also the path of its file. */
  readonly name: string;
  readonly steps: readonly Step[];
  /** What the backends answer, call by call. */
  readonly replies?: readonly Reply[];
  readonly account?: AccountOptions;
  readonly catalog?: 'main' | 'proxied';
  /** The gateway remembers what happens (a failing backend, a moved clock), so no other case may share it. */
  readonly fresh?: boolean;
  /** A table that the store has lost. */
  readonly lost?: 'image' | 'request';
}

export interface Step {
  /** The request, or how it follows from earlier answers. */
  readonly send: ClientRequest | ((answers: readonly Message[]) => ClientRequest);
  /** Goes on while the next steps run, until the end of the case. */
  readonly background?: boolean;
  /** The gateway begins to shut down before this step. */
  readonly drain?: boolean;
  readonly during?: During;
}

/** What happens once the client has seen these words; without words, once the backend has been called. */
export interface During {
  readonly seen?: string;
  readonly happens: 'backend goes on' | 'client leaves' | 'a minute passes';
}

export interface ClientRequest {
  readonly method: string;
  /** `{token}` stands for the account's token, here and in headers. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}
