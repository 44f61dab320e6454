import type { Tools } from '../harness/tools.ts';

/** A gateway under test, running. */
export interface Contender {
  readonly name: string;
  readonly version: string;
  /** Whose CPU and memory are counted, with all their children. */
  readonly pids: readonly number[];
  /** A database beside it, counted apart. */
  readonly databasePids: readonly number[];
  /** One for each node; the load is shared out evenly. */
  readonly urls: readonly string[];
  /** One set of headers for each account; those without accounts have one. */
  readonly headers: readonly Readonly<Record<string, string>>[];
  stop(): Promise<void>;
}

/** What every contender may use to start. */
export interface ContenderContext {
  readonly tools: Tools;
  /** Base URL of the mock backend. */
  readonly backend: string;
  /** For logs, configuration and data; removed at the end. */
  readonly folder: string;
}
