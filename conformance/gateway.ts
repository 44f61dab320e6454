import type { InvoiceBackend } from './backend/backend.ts';

/** A gateway under test, running. What the cases ask of it is HTTP; how it is started and set up is its adapter's. */
export interface Gateway {
  readonly version: string;
  /** Everything that was set, and why it is its best or its documented configuration. */
  readonly settings: readonly string[];
  /** What is not as its documentation has it, such as a program of ours between it and its database. */
  readonly shims: readonly string[];
  /** The base URL of each node, ending in the version of the API. */
  readonly nodes: readonly string[];
  readonly chatModel: string;
  readonly thinkingModel: string;
  /** Absent where it has no images. */
  readonly imageModel?: string;
  /** Fields that its requests need beside OpenAI's. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long its books may need after an answer has ended: its flush interval, or nothing. */
  readonly settleMs: number;
  /** How long they may need after a killed node has started again. */
  readonly recoverMs: number;
  /** What its limits count by: the last minute, or the minute of the clock (which may begin anew in the middle of a case); `nothing`: it has none for a customer. */
  readonly limitsBy: 'last minute' | 'clock' | 'nothing';
  /** Absent where it keeps no money: then only what the backend sees can be judged. */
  readonly money?: Money;
  /** SIGKILL to every process of its first node, and a new start. */
  restartKilled?(): Promise<void>;
  /** Stops the processes of its first node where they are, and lets them go on. */
  freeze?(ms: number): Promise<void>;
  stop(): Promise<void>;
}

export interface Money {
  /** A customer with a balance, made over its API or command line. */
  account(wish: AccountWish): Promise<Account>;
  /** Whether an operator can take money back that was paid in. */
  readonly takesBack: boolean;
}

export interface AccountWish {
  readonly usd: number;
  /** Absent: as many as it allows. */
  readonly requestsPerMinute?: number;
}

export interface Account {
  readonly headers: Readonly<Record<string, string>>;
  /** What is no longer there for new requests: charges, and holds that nobody has released. */
  spentUsd(): Promise<number>;
  /** The operator takes back money that was paid in. */
  takeBack?(usd: number): Promise<void>;
}

/** How one gateway is had on this machine and started. */
export interface Adapter {
  readonly name: string;
  readonly about: string;
  start(context: AdapterContext): Promise<Gateway>;
}

export interface AdapterContext {
  readonly backend: InvoiceBackend;
  /** For configuration, data and logs; removed at the end. */
  readonly folder: string;
}
