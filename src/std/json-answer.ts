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

/**
 * An answer in an encoding that was not asked for. It is not decompressed (`decompress: false`): nine megabytes may
 * become nine hundred.
 */
export function isEncoded({ headers }: Response): boolean {
  const encoding = headers.get('content-encoding');
  return encoding !== null && encoding !== '' && encoding.toLowerCase() !== 'identity';
}

/**
 * The body of an answer as it is, if it is no larger than allowed, whatever its headers say. A connection that breaks is
 * an error of its own.
 */
export function readBytes(
  answer: Response,
  rules: Pick<AnswerRules, 'maxBytes' | 'broken'>,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = Number(answer.headers.get('content-length') ?? Number.NaN);
  // A declared length is enforced by the protocol, and reading at once is a good deal cheaper than chunk by chunk.
  return declared <= rules.maxBytes ? answer.bytes() : readChunks(answer, declared, rules);
}

async function readChunks(
  answer: Response,
  declared: number,
  { maxBytes, broken }: Pick<AnswerRules, 'maxBytes' | 'broken'>,
): Promise<Uint8Array<ArrayBuffer>> {
  if (!Number.isNaN(declared)) {
    // Its connection would stay open for a body that nobody reads.
    await answer.body?.cancel();
    throw broken(`of ${declared} bytes is too large`);
  }
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of answer.body ?? []) {
    total += chunk.byteLength;
    if (total > maxBytes) throw broken(`of more than ${maxBytes} bytes is too large`);
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] ? new Uint8Array(chunks[0]) : new Uint8Array(Buffer.concat(chunks));
}

/** An answer in JSON, limited in size and in what it makes the parser do. */
export async function readJsonAnswer(response: Response, rules: AnswerRules): Promise<JsonText> {
  const parsed = parseAnswer(await readBytes(response, rules), rules);
  return parsed instanceof Promise ? await parsed : parsed;
}

/** An answer whose bytes were read before; a short one is there at once. */
export function parseAnswer(bytes: Uint8Array, rules: AnswerRules): JsonText | Promise<JsonText> {
  try {
    const parsed = parseJson(bytes, rules.limits, rules.decoding);
    return parsed instanceof Promise ? orUnreadable(parsed, rules) : parsed;
  } catch (cause) {
    throw unreadable(cause, rules);
  }
}

async function orUnreadable(parsing: Promise<JsonText>, rules: AnswerRules): Promise<JsonText> {
  try {
    return await parsing;
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
