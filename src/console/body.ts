import { Fault } from '../std/fault.ts';
import { readBounded } from '../std/bounded-body.ts';
import { requireJson } from './security.ts';

export const MEGABYTE = 1_048_576;
const MAX_BYTES = 65_536;

interface ConsoleBody {
  readonly value: unknown;
  /** How large it was as text, which bounds what it can cost. */
  readonly size: { readonly bytes: number; readonly characters: number };
}

/** A JSON body of bounded size; no body at all is an empty object. */
export async function readConsoleBody(request: Request, maxBytes: number = MAX_BYTES): Promise<ConsoleBody> {
  requireJson(request);
  const bytes = await readBounded(request, maxBytes, tooLarge);
  const text = decoded(bytes);
  return {
    value: text.trim() === '' ? {} : parsed(text),
    size: { bytes: bytes.byteLength, characters: text.length },
  };
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Fault('invalid_json', 'The body is not valid UTF-8.');
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would repeat the input, which may be a password.
    throw new Fault('invalid_json', 'The body is not valid JSON.');
  }
}

function tooLarge(): Fault {
  return new Fault('request_too_large', 'The body is too large.');
}
