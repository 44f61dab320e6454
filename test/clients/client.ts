import type { z } from 'zod';

/**
 * What every SDK can do, so that one table of tests applies to all. Each implementation does it in the SDK's own way
 * (its helpers, its tool loop) and changes only base URL, key and model.
 */
export interface Client {
  readonly name: string;
  /** Where its requests arrive. */
  readonly path: '/v1/chat/completions' | '/v1/responses' | '/v1/messages';
  ask(question: Question): Promise<Reply>;
  stream(question: Question): Promise<Reply>;
  /** What a program that uses the SDK can see of an error. */
  surface(thrown: unknown): ReportedError;
}

export interface Question {
  readonly prompt: string;
  /** A PNG for the model. */
  readonly image?: Uint8Array;
  /** The answer must be an object of this form. */
  readonly schema?: z.ZodObject;
  /** Offered to the model and run in a loop until the model has no more calls. */
  readonly tool?: Tool;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodObject;
  run(input: Record<string, unknown>): string;
}

export interface Reply {
  readonly text: string;
  readonly thoughts: string;
  /** `undefined` if the SDK has no field for it, or was not asked to include it. */
  readonly usage: { readonly input: number; readonly output: number } | undefined;
  /** How many pieces of text came; one for a whole answer. */
  readonly pieces: number;
}

export interface ReportedError {
  /** The name of the error's class. */
  readonly kind: string;
  readonly status: number | undefined;
  /** Our code, wherever the SDK puts it. */
  readonly code: string | undefined;
  readonly message: string;
  readonly requestId: string | undefined;
}

export interface Target {
  /** Scheme, host and port. */
  readonly url: string;
  readonly token: string;
  readonly model: string;
  /** Absent: the SDK's default. */
  readonly retries?: number;
}

export type MakeClient = (target: Target) => Client;

/** For SDKs that take images as a link. */
export function dataUrl(png: Uint8Array): string {
  return `data:image/png;base64,${Buffer.from(png).toString('base64')}`;
}

/** A field of an untyped value: errors look different in every SDK. */
export function field(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (here, key) => (typeof here === 'object' && here !== null ? Reflect.get(here, key) : undefined),
    value,
  );
}

export function textField(value: unknown, ...path: readonly string[]): string | undefined {
  const found = field(value, ...path);
  return typeof found === 'string' ? found : undefined;
}

export function kindOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.constructor.name : typeof thrown;
}
