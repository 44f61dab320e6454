import { readBounded } from './bounded-body.ts';
import { JsonBeyondLimit, parseJson, parseJsonText, type JsonText } from './json-parse.ts';
import type { JsonLimits } from './json-scan.ts';

/** What an answer may be. */
export interface AnswerRules {
  readonly maxBytes: number;
  readonly limits: JsonLimits;
  /** Strict: what is no UTF-8 is no answer, because its text is passed on. */
  readonly decoding?: 'lenient' | 'strict';
  /** The error for an answer that is too large or cannot be read. */
  broken(why: string, cause?: unknown): Error;
}

/** The body of an answer as it is. A connection that breaks is an error of its own. */
export function readBytes(
  response: Response,
  { maxBytes, broken }: Pick<AnswerRules, 'maxBytes' | 'broken'>,
): Promise<Uint8Array<ArrayBuffer>> {
  return readBounded(response, maxBytes, (size) => broken(`of ${size} is too large`));
}

/** An answer in JSON, limited in size and in what it makes the parser do. */
export async function readJsonAnswer(response: Response, rules: AnswerRules): Promise<JsonText> {
  return await parseAnswer(await readBytes(response, rules), rules);
}

/** An answer whose bytes were read before. */
export async function parseAnswer(bytes: Uint8Array, rules: AnswerRules): Promise<JsonText> {
  try {
    return await parseJson(bytes, rules.limits, rules.decoding);
  } catch (cause) {
    throw unreadable(cause, rules);
  }
}

/** One event of a stream. */
export async function parseEvent(text: string, rules: AnswerRules): Promise<unknown> {
  try {
    return await parseJsonText(text, rules.limits);
  } catch (cause) {
    throw unreadable(cause, rules);
  }
}

export function unreadable(cause: unknown, { broken }: Pick<AnswerRules, 'broken'>): Error {
  if (cause instanceof JsonBeyondLimit) return broken(`has ${cause.message}`, cause);
  return broken(cause instanceof SyntaxError ? 'is not JSON' : 'is not valid UTF-8', cause);
}
