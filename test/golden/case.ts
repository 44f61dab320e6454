import type { CatalogName } from './catalog.ts';
import type { Reply } from './backend.ts';
import type { AccountOptions } from './gateway.ts';
import type { Message } from './message.ts';

/** One recorded scenario: what a client sends, what backends answer, and what each of them gets. */
export interface GoldenCase {
  /** `operation/what-happens`: also the path of its file. */
  readonly name: string;
  readonly steps: readonly Step[];
  /** What the backends answer, call by call. */
  readonly replies?: readonly Reply[];
  readonly account?: AccountOptions;
  readonly catalog?: CatalogName;
  /** The gateway keeps the effects (a failing backend, a moved clock), so no other case may share it. */
  readonly fresh?: boolean;
  /** A table that is dropped from the store. */
  readonly lost?: 'image' | 'request';
}

export interface Step {
  /** The request, or a function that makes it from earlier answers. */
  readonly send: ClientRequest | ((answers: readonly Message[]) => ClientRequest);
  /** Runs on while the next steps run, until the end of the case. */
  readonly background?: boolean;
  /** The gateway begins to shut down before this step. */
  readonly drain?: boolean;
  readonly during?: During;
}

/** What happens once the client has received this text; without a text, once the backend has been called. */
export interface During {
  readonly seen?: string;
  readonly happens: 'backend goes on' | 'client leaves' | 'a minute passes' | 'gateway stops';
}

export interface ClientRequest {
  readonly method: string;
  /** `{token}` stands for the account's token, here and in headers. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}
