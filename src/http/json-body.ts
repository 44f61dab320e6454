import type { z } from 'zod';
import type { Caller } from '../ledger/port.ts';
import type { BodySize } from '../relay/call.ts';
import { readBounded } from '../std/bounded-body.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import { JSON_LIMITS, JsonScan, nestsDeeper, type JsonExcess } from '../std/json-scan.ts';
import { decodeInSteps, LONG_TEXT, nextTurn } from '../std/long-text.ts';
import {
  HARMLESS,
  knobsOf,
  type CostlyField,
  type FieldRules,
  type SelectedFields,
} from '../wire/field-table.ts';
import type { CallerAuth } from './caller-auth.ts';
import type { IncomingRequest } from './router.ts';

/** Enough for the largest body on a slow connection. A slower client only holds a connection. */
const BODY_TIMEOUT_MS = 120_000;
export const MAX_BODY_BYTES = 20 * 1_048_576;
/** What a body needs before it is received, if it is larger than {@link SMALL_BODY_BYTES}. */
export type AdmitLargeBody = (bytes: number) => Promise<void>;
export const SMALL_BODY_BYTES = 65_536;

export interface JsonBody {
  readonly value: Record<string, unknown>;
  readonly size: BodySize;
  readonly text: string;
}

/** Reads a JSON object: limited in size and structure, valid UTF-8. Anything else is a 400 that says why. */
export async function readJson(request: Request, admitLarge: AdmitLargeBody): Promise<JsonBody> {
  refuseEncoding(request.headers);
  const bytes = await readBody(request, admitLarge);
  // The only excess that fits into a short text is too many levels: it has fewer values than bytes.
  const isShort = bytes.byteLength <= JSON_LIMITS.keysOfObject;
  if (!isShort) await refuseExcess(bytes);
  const text = bytes.byteLength > LONG_TEXT ? await decodeLong(bytes) : decode(bytes);
  const value = parse(text);
  if (isShort && nestsDeeper(value, JSON_LIMITS.depth)) throw new Fault('invalid_json', EXCESS.depth);
  // Checking and converting what was parsed takes as long again, so others get a turn first.
  if (bytes.byteLength > SMALL_BODY_BYTES) await nextTurn();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Fault('invalid_json', 'The body must be a JSON object.');
  }
  return {
    value: value as Record<string, unknown>,
    text,
    size: { bytes: bytes.byteLength, characters: text.length },
  };
}

/** The whole body. Refused as soon as it is known to be too large, or when it does not arrive in time. */
export function readBody(
  request: Request,
  admitLarge: AdmitLargeBody,
  timeoutMs = BODY_TIMEOUT_MS,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  const read =
    declared <= SMALL_BODY_BYTES || declared > MAX_BODY_BYTES
      ? readBounded(request, MAX_BODY_BYTES, tooLarge)
      : readLarge(request, declared, admitLarge);
  return pendingBodies.withDeadline(read, timeoutMs);
}

/** A body of unknown length takes the room of the largest, once it has proved not to be small. */
async function readLarge(
  request: Request,
  declared: number,
  admitLarge: AdmitLargeBody,
): Promise<Uint8Array<ArrayBuffer>> {
  if (!Number.isNaN(declared)) {
    await admitLarge(declared);
    return await readBounded(request, MAX_BODY_BYTES, tooLarge);
  }
  return await readBounded(request, MAX_BODY_BYTES, tooLarge, {
    bytes: SMALL_BODY_BYTES,
    onReached: () => admitLarge(MAX_BODY_BYTES),
  });
}

interface PendingBody {
  readonly deadline: number;
  /** Cleared when it is read: the tables that a set leaves behind would keep it (see `TransientMap`). */
  reject: ((fault: Fault) => void) | undefined;
}

/**
 * Bodies that are being received. One shared timer checks all of them: a timer for each would cost more than reading
 * the body.
 */
class PendingBodies {
  readonly #bodies = new Set<PendingBody>();
  #timer: Timer | undefined;

  withDeadline<T>(read: Promise<T>, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const body: PendingBody = { deadline: performance.now() + timeoutMs, reject };
      this.#bodies.add(body);
      this.#timer ??= setInterval(() => this.#rejectLate(), Math.min(CHECK_INTERVAL_MS, timeoutMs));
      const onRead = (bytes: T): void => {
        this.#remove(body);
        resolve(bytes);
      };
      const onError = (error: unknown): void => {
        this.#remove(body);
        reject(error instanceof Fault ? error : unreadable(error));
      };
      read.then(onRead, onError);
    });
  }

  #remove(body: PendingBody): void {
    this.#bodies.delete(body);
    body.reject = undefined;
  }

  #rejectLate(): void {
    const now = performance.now();
    for (const body of this.#bodies) {
      if (body.deadline > now) continue;
      body.reject?.(tooSlow());
      this.#remove(body);
    }
    if (this.#bodies.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const CHECK_INTERVAL_MS = 1_000;
const pendingBodies = new PendingBodies();

function unreadable(cause: unknown): Fault {
  return new Fault('invalid_json', 'The body could not be read.', { cause });
}

function tooSlow(): Fault {
  return new Fault('invalid_json', 'The body did not arrive in time.');
}

function tooLarge(): Fault {
  return new Fault('request_too_large', `The body may be at most ${MAX_BODY_BYTES / 1_048_576} MB.`);
}

function refuseEncoding(headers: Headers): void {
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding !== '' && encoding.toLowerCase() !== 'identity') {
    throw new Fault('invalid_json', 'Send the body without content-encoding.');
  }
}

const STRICT = { fatal: true, ignoreBOM: false };
const utf8 = new TextDecoder('utf-8', STRICT);

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw notUtf8(cause);
  }
}

async function decodeLong(bytes: Uint8Array): Promise<string> {
  try {
    return await decodeInSteps(new TextDecoder('utf-8', STRICT), bytes);
  } catch (cause) {
    throw notUtf8(cause);
  }
}

function notUtf8(cause: unknown): Fault {
  return new Fault('invalid_json', 'The body is not valid UTF-8.', { cause });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replace(/^JSON Parse error: /, '').slice(0, 200) : '';
    throw new Fault('invalid_json', `The body is not valid JSON. ${why}`.trim(), { cause });
  }
}

/** Finds what would keep the parser busy too long, before it sees the text. */
async function refuseExcess(bytes: Uint8Array): Promise<void> {
  const scan = new JsonScan(bytes);
  for (;;) {
    const result = scan.run(LONG_TEXT);
    if (result === 'done') return;
    if (result === 'more') await nextTurn();
    else throw new Fault('invalid_json', EXCESS[result]);
  }
}

const EXCESS: Record<JsonExcess, string> = {
  depth: `The body is nested deeper than ${JSON_LIMITS.depth} levels.`,
  values: `The body has more than ${JSON_LIMITS.values} values.`,
  structure: `The body has more than ${JSON_LIMITS.structure} objects, arrays and keys.`,
  keysOfObject: `The body has an object with more than ${JSON_LIMITS.keysOfObject} keys.`,
};

/** Checks a body against its schema; the first error is reported with the path of its field. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [first] = result.error.issues;
  const issue = first && innermost(first);
  const param = issue?.path.map(String).join('.') ?? '';
  const isOfType = issue?.code !== 'invalid_type' && issue?.code !== 'invalid_union';
  if (issue && !isOfType && at(value, issue.path) === undefined) {
    throw new Fault('missing_field', `${param} is required.`, { param });
  }
  throw new Fault('invalid_field', `${param}: ${issue?.message ?? 'is not valid'}`, { param });
}

type Issue = z.core.$ZodIssue;

/**
 * The issue of the alternative that matched furthest: for content made of parts, the error names the wrong part and
 * does not say that the content is no text.
 */
function innermost(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const [first, ...others] = issue.errors.flatMap((branch) => branch.slice(0, 1));
  if (!first) return issue;
  const best = others.reduce((one, other) => (progress(other) > progress(one) ? other : one), first);
  if (progress(best) > 0) return innermost({ ...best, path: [...issue.path, ...best.path] });
  const expected = new Set(
    [first, ...others].map((one) => (one.code === 'invalid_type' ? one.expected : '')),
  );
  return { ...issue, message: `expected ${[...expected].join(' or ')}` };
}

/** 0: the value is of another type than the alternative takes. */
function progress({ code, path }: Issue): number {
  return path.length + (code === 'invalid_type' ? 0 : 0.5);
}

/** `null` at the top level of a request means absent, and absent fields are not sent on. */
export function withoutNulls(value: Record<string, unknown>): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    if (value[key] !== null) continue;
    copy ??= { ...value };
    delete copy[key];
  }
  return copy ?? value;
}

/** One pass over the fields of a body; a body of harmless fields is not copied. `null` means absent. */
export function selectFields(value: Record<string, unknown>, rules: FieldRules): SelectedFields {
  let removed: Set<string> | undefined;
  let unknown: Map<string, unknown> | undefined;
  let costly: CostlyField[] | undefined;
  for (const field of Object.keys(value)) {
    const given = value[field];
    const rule = rules.get(field);
    if (given === undefined || (given !== null && rule === HARMLESS)) continue;
    if (given === null || !rule) {
      (removed ??= new Set()).add(field);
      if (given !== null) (unknown ??= new Map()).set(field, given);
    } else if (rule.kind === 'synonym') throw synonymFault(field, rule.of);
    else if (rule.kind === 'costly') {
      const cost = rule.costOf(given);
      if (cost) (costly ??= []).push({ field, cost });
    }
  }
  const body = removed ? without(value, removed) : value;
  return { body, knobs: unknown || costly ? knobsOf({ unknown, costly }) : undefined };
}

function without(value: Record<string, unknown>, removed: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([field]) => !removed.has(field)));
}

function synonymFault(field: string, of: string): Fault {
  return new Fault('invalid_field', `${field} is not supported. Use ${of} instead.`, { param: field });
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  let current: unknown = value;
  for (const key of path)
    current =
      typeof current === 'object' && current !== null
        ? (current as Record<PropertyKey, unknown>)[key]
        : undefined;
  return current;
}

const MEGABYTE = 1_048_576;
/** A body is in memory several times: as bytes, as text, parsed, and as what is sent to the backend. */
const MAX_TOTAL_BYTES = 200 * MEGABYTE;
/** Three of the largest. */
const MAX_ACCOUNT_BYTES = 60 * MEGABYTE;

/**
 * Bounds what large bodies occupy. Their token is looked up before they are received, so that nobody without an account
 * can fill the memory, and no account takes all of the room.
 */
export class LargeBodies {
  readonly #callerAuth: CallerAuth;
  readonly #byAccount = new Map<AccountId, number>();
  #total = 0;

  constructor(callerAuth: CallerAuth) {
    this.#callerAuth = callerAuth;
  }

  /** Room for a body, until its request is answered; or the fault that says why there is none. */
  async admit(incoming: IncomingRequest, caller: Caller, bytes: number): Promise<void> {
    const { accountId } = await this.#callerAuth.account(caller);
    const own = this.#byAccount.get(accountId) ?? 0;
    if (own + bytes > MAX_ACCOUNT_BYTES || this.#total + bytes > MAX_TOTAL_BYTES) throw noRoom();
    this.#add(accountId, bytes);
    incoming.onAnswered(() => this.#add(accountId, -bytes));
  }

  #add(accountId: AccountId, bytes: number): void {
    this.#total += bytes;
    const own = (this.#byAccount.get(accountId) ?? 0) + bytes;
    if (own > 0) this.#byAccount.set(accountId, own);
    else this.#byAccount.delete(accountId);
  }
}

function noRoom(): Fault {
  return new Fault('service_unavailable', 'Too many large requests at once. Retry soon.', {
    retryAfterMs: 1_000,
  });
}
