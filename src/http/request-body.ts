import type { z } from 'zod';
import { issueText } from './issue-text.ts';
import { ClientLeftFault, Fault } from '../std/fault.ts';
import { JsonBeyondLimit, parseJson, type JsonText } from '../std/json-parse.ts';
import { JSON_LIMITS, JsonScan } from '../std/json-scan.ts';
import { nextTurn } from '../std/turns.ts';
import { networkOf } from '../std/addresses.ts';
import { openFileLimit } from '../std/open-files.ts';
import {
  HARMLESS,
  knobsOf,
  type CostlyField,
  type FieldRules,
  type SelectedFields,
} from '../wire/field-table.ts';
import { Deadlines, rejectEntry, type Deadline } from '../std/deadlines.ts';

const MEGABYTE = 1_048_576;
/** The most that any route takes. */
export const MAX_BODY_BYTES = 20 * MEGABYTE;
/** Larger bodies count in the memory that is held for their account. */
export const SMALL_BODY_BYTES = 65_536;

/** So much of a large body is scanned while it arrives, and all of it once it is there: bodies that never end cost little. */
const SCANNED_EARLY = MEGABYTE;

/** What the body of a route may be. */
export type BodyRule =
  | { readonly kind: 'none' }
  | JsonRule
  /** A form, or the same fields as JSON. */
  | { readonly kind: 'form'; readonly maxBytes: number; readonly maxParts: number }
  /** Bytes that are checked by their signature. */
  | { readonly kind: 'signed'; readonly maxBytes: number };

interface JsonRule {
  readonly kind: 'json';
  readonly maxBytes: number;
  /** For routes that are authenticated by cookies: no other type than JSON's, which another site's form cannot send. */
  readonly mustSayJson?: true;
  /** No body at all is an empty object. */
  readonly mayBeEmpty?: true;
}

export const NO_BODY: BodyRule = { kind: 'none' };
/** The body of a public operation. */
export const API_JSON: BodyRule = { kind: 'json', maxBytes: MAX_BODY_BYTES };

export interface JsonBody {
  readonly value: Record<string, unknown>;
  readonly size: BodySize;
  readonly text: string;
}

/** How large it was as text, which bounds what it can cost. */
interface BodySize {
  readonly bytes: number;
  readonly characters: number;
}

/** A request whose body is read. */
export interface BodySender {
  readonly request: Request;
  readonly address: string;
  /** Counts bytes of a large body in the memory of its account until the request no longer holds them. */
  holdMemory(bytes: number): Promise<void>;
  /** All of it is there: the time for the answer begins. */
  bodyArrived(): void;
}

/** Reads bodies within the rules of their routes. Nothing else in the server reads one. */
export class BodyReader implements Deadline<BodyReader> {
  readonly sender: BodySender;
  readonly #rule: BodyRule;
  readonly #times: typeof ARRIVAL_MS;
  /** Some of the body was not received: the connection cannot be used for another request. */
  isCutOff = false;
  startedAt = 0;
  endsAt = 0;
  reject: Deadline<BodyReader>['reject'] = undefined;
  previous: BodyReader | undefined = undefined;
  next: BodyReader | undefined = undefined;

  constructor(sender: BodySender, rule: BodyRule, times = ARRIVAL_MS) {
    this.sender = sender;
    this.#rule = rule;
    this.#times = times;
  }

  /** A JSON object: limited in size and structure, valid UTF-8. Anything else is a fault that says why. */
  json(): Promise<JsonBody> {
    return this.#read(JSON_READING);
  }

  /** A form. */
  form(): Promise<FormBody> {
    return this.#read(new FormReading());
  }

  /** The bytes as they were signed. */
  signed(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#read(SIGNED_READING);
  }

  /** The whole body. Refused as soon as it is known to be too large, or when it does not arrive in time. */
  async #read<Body>(reading: BodyReading<Body>): Promise<Body> {
    const rule = this.#rule;
    if (rule.kind === 'none') throw new Error('this route takes no body');
    const { request } = this.sender;
    const { headers } = request;
    reading.check(headers, rule);
    const declared = Number(headers.get('content-length') ?? Number.NaN);
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      if (declared > rule.maxBytes) throw tooLarge(rule.maxBytes);
      const isSmall = declared <= SMALL_BODY_BYTES;
      this.startedAt = performance.now();
      this.endsAt = this.startedAt + (isSmall ? this.#times.small : this.#times.pause);
      // Whoever has no account is refused before any of it is received.
      if (!isSmall && !Number.isNaN(declared)) await this.sender.holdMemory(0);
      // A declared length is enforced by the protocol, and reading at once is a good deal cheaper than in pieces.
      const arrival = isSmall ? request.bytes() : this.#pieces(rule.maxBytes, reading.startScan());
      bytes = await arriving.within(arrival, this);
    } catch (thrown) {
      this.isCutOff = true;
      throw thrown instanceof Fault ? thrown : unreadable(thrown);
    } finally {
      arriving.end(this);
    }
    this.sender.bodyArrived();
    const body = reading.bodyOf(bytes, rule);
    return body instanceof Promise ? await body : body;
  }

  async #pieces(maxBytes: number, scan: BodyScan | undefined): Promise<Uint8Array<ArrayBuffer>> {
    const arrived = new ArrivedBytes();
    const latest = this.startedAt + this.#times.whole;
    let total = 0;
    let held = 0;
    try {
      for await (const piece of this.sender.request.body ?? []) {
        total += piece.byteLength;
        if (total > maxBytes) throw tooLarge(maxBytes);
        if (total > SMALL_BODY_BYTES) {
          await this.sender.holdMemory(total - held);
          held = total;
          // One piece of one body in each turn: where many arrive at once, others would wait for a piece of each.
          await nextTurn();
        }
        // A body that is made to keep the parser busy is recognised by its first pieces, and not received to its end.
        scan?.add(piece);
        // Late: nobody waits for it any more.
        if (this.reject === undefined) throw tooSlow();
        this.endsAt = Math.min(latest, performance.now() + this.#times.pause);
        arrived.add(piece);
      }
    } catch (thrown) {
      arrived.drop();
      throw thrown;
    }
    return arrived.all();
  }
}

/** How bodies of one kind are read. */
interface BodyReading<Body> {
  /** Before any of it is received. Throws the fault that its headers deserve. */
  check(headers: Headers, rule: BodyRule): void;
  /** Begins a scan of the pieces of a large body while they arrive. */
  startScan(): BodyScan | undefined;
  /** The content of a body's bytes; for a small body without a promise. */
  bodyOf(bytes: Uint8Array<ArrayBuffer>, rule: BodyRule): Body | Promise<Body>;
}

const JSON_READING: BodyReading<JsonBody> = {
  check(headers, rule) {
    if (rule.kind === 'json') requireJsonType(headers, rule);
    refuseEncoding(headers);
  },
  startScan: () => new EarlyJsonScan(),
  bodyOf(bytes, rule) {
    const size = bytes.byteLength;
    if (rule.kind === 'json' && rule.mayBeEmpty && isBlank(bytes)) return emptyObject(size);
    const parsed = parse(bytes, rule);
    return parsed instanceof Promise || size > SMALL_BODY_BYTES
      ? longJson(parsed, size)
      : jsonObject(parsed, size);
  },
};

async function longJson(parsing: JsonText | Promise<JsonText>, size: number): Promise<JsonBody> {
  const parsed = await parsing;
  // Checking and converting what was parsed takes as long again, so others get a turn first.
  if (size > SMALL_BODY_BYTES) await nextTurn();
  return jsonObject(parsed, size);
}

function jsonObject({ value, text }: JsonText, bytes: number): JsonBody {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Fault('invalid_json', 'The body must be a JSON object.');
  return { value: value as Record<string, unknown>, text, size: { bytes, characters: text.length } };
}

interface FormBody {
  readonly fields: FormData;
  /** Of all of it, in bytes. */
  readonly size: number;
}

class FormReading implements BodyReading<FormBody> {
  #type = '';
  #parts: PartCount | undefined;

  check(headers: Headers, rule: BodyRule): void {
    if (rule.kind !== 'form') throw new Error('this route takes no form');
    refuseEncoding(headers);
    this.#type = headers.get('content-type') ?? '';
    const boundary = boundaryOf(this.#type);
    if (boundary === undefined) throw notAForm();
    this.#parts = new PartCount(boundary, rule.maxParts);
  }

  startScan(): BodyScan | undefined {
    return this.#parts;
  }

  async bodyOf(bytes: Uint8Array<ArrayBuffer>): Promise<FormBody> {
    if (this.#parts?.isStarted === false) this.#parts.add(bytes);
    const size = bytes.byteLength;
    if (size > SMALL_BODY_BYTES) await nextTurn();
    try {
      const fields = await new Response(bytes, { headers: { 'content-type': this.#type } }).formData();
      return { fields, size };
    } catch (cause) {
      throw notAForm(cause);
    } finally {
      // Its files are copies.
      if (size > SMALL_BODY_BYTES) free(bytes);
    }
  }
}

const SIGNED_READING: BodyReading<Uint8Array<ArrayBuffer>> = {
  check(_headers, rule) {
    if (rule.kind !== 'signed') throw new Error('this route takes no signed bytes');
  },
  startScan: () => undefined,
  bodyOf: (bytes) => bytes,
};

/**
 * The pieces of a body, joined at its end. Their memory is given back as each of them is copied, and when the body is
 * refused: until the next collection, bodies that are over would take several times the room of those that are not.
 */
class ArrivedBytes {
  #pieces: Uint8Array[] = [];
  #length = 0;

  add(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#length += piece.byteLength;
  }

  all(): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(this.#length);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.byteLength;
      free(piece);
    }
    this.#pieces = [];
    return whole;
  }

  drop(): void {
    for (const piece of this.#pieces) free(piece);
    this.#pieces = [];
  }
}

/** Unless its memory is also that of another piece. */
function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/**
 * How long bodies may take. `small`: enough on the slowest connection. `pause`: of a large one between two pieces.
 * `whole`: enough for the largest on a slow connection.
 */
export const ARRIVAL_MS = { small: 20_000, pause: 15_000, whole: 120_000 };

const arriving = new Deadlines<BodyReader>(rejectLate);

/** Bodies that have arrived within this time are not counted as slow. */
const SLOW_MS = 250;
/** Each slow body keeps a connection, and with it a file. */
const MOST_SLOW = Math.min(512, Math.max(16, Math.floor((openFileLimit() ?? 4_096) / 8)));
const MOST_SLOW_OF_NETWORK = Math.ceil(MOST_SLOW / 2);

/**
 * Refuses bodies that are too late, and the oldest of the slow ones where they are too many, of one network or in all:
 * a body that arrives at once is never refused because others do not.
 */
function rejectLate(bodies: Iterable<BodyReader>, now: number): void {
  const slow: BodyReader[] = [];
  for (const body of bodies) {
    if (body.endsAt <= now) rejectEntry(body, tooSlow());
    else if (now - body.startedAt > SLOW_MS) slow.push(body);
  }
  if (slow.length <= MOST_SLOW_OF_NETWORK) return;
  const ofNetworks = Map.groupBy(slow, ({ sender }) => networkOf(sender.address));
  const kept = [...ofNetworks.values()].flatMap((own) => rejectOldest(own, MOST_SLOW_OF_NETWORK));
  rejectOldest(
    kept.toSorted((one, other) => one.startedAt - other.startedAt),
    MOST_SLOW,
  );
}

/** Returns those that stay. */
function rejectOldest(bodies: readonly BodyReader[], most: number): readonly BodyReader[] {
  const excess = Math.max(0, bodies.length - most);
  for (const body of bodies.slice(0, excess)) rejectEntry(body, tooSlow());
  return bodies.slice(excess);
}

function tooSlow(): Fault {
  return new Fault('invalid_json', 'The body did not arrive in time.');
}

function tooLarge(maxBytes: number): Fault {
  const size = maxBytes >= MEGABYTE ? `${maxBytes / MEGABYTE} MB` : `${maxBytes / 1024} KB`;
  return new Fault('request_too_large', `The body may be at most ${size}.`);
}

/** The runtime's error when the client closes its connection in the middle of its body. */
function unreadable(cause: unknown): Fault {
  if (cause instanceof Error && cause.name === 'AbortError') return new ClientLeftFault();
  return new Fault('invalid_json', 'The body could not be read.', { cause });
}

/** What clients send that do not say what they send: `curl -d` and `fetch` with a text. */
const UNSAID_TYPES = new Set(['application/x-www-form-urlencoded', 'text/plain']);

function requireJsonType(headers: Headers, { mustSayJson }: JsonRule): void {
  const given = headers.get('content-type');
  if (given === JSON_TYPE) return;
  const type = given?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === JSON_TYPE) return;
  if (mustSayJson) throw new Fault('unsupported_media_type', 'Send application/json.');
  if (type === '' || type.endsWith('+json') || UNSAID_TYPES.has(type)) return;
  throw new Fault('invalid_json', 'Send the body as application/json.', { param: 'Content-Type' });
}

const JSON_TYPE = 'application/json';

function refuseEncoding(headers: Headers): void {
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding !== '' && encoding.toLowerCase() !== 'identity')
    throw new Fault('invalid_json', 'Send the body without content-encoding.');
}

const WHITE_SPACE = new Set(Array.from(' \t\r\n', (sign) => sign.charCodeAt(0)));

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => WHITE_SPACE.has(byte));
}

/** Short JSON is there at once. The bytes of a large body are gone afterwards. */
function parse(bytes: Uint8Array, rule: BodyRule): JsonText | Promise<JsonText> {
  try {
    const parsed = parseJson(bytes, JSON_LIMITS, 'strict');
    return parsed instanceof Promise ? parsedLong(parsed, bytes, rule) : parsed;
  } catch (cause) {
    throw notJson(cause, rule);
  }
}

async function parsedLong(parsing: Promise<JsonText>, bytes: Uint8Array, rule: BodyRule): Promise<JsonText> {
  try {
    return await parsing;
  } catch (cause) {
    throw notJson(cause, rule);
  } finally {
    if (bytes.byteLength > SMALL_BODY_BYTES) free(bytes);
  }
}

/** Throws the fault of a body that will be refused whatever else comes. */
interface BodyScan {
  add(piece: Uint8Array): void;
}

class EarlyJsonScan implements BodyScan {
  readonly #scan = new JsonScan();
  #scanned = 0;

  add(piece: Uint8Array): void {
    this.#scanned += piece.byteLength;
    const excess = this.#scanned <= SCANNED_EARLY ? this.#scan.add(piece) : undefined;
    if (excess !== undefined) throw new Fault('invalid_json', EXCESS[excess]);
  }
}

const EXCESS: Record<keyof typeof JSON_LIMITS, string> = {
  depth: `The body is nested deeper than ${JSON_LIMITS.depth} levels.`,
  values: `The body has more than ${JSON_LIMITS.values} values.`,
  structure: `The body has more than ${JSON_LIMITS.structure} objects, arrays and keys.`,
  keysOfObject: `The body has an object with more than ${JSON_LIMITS.keysOfObject} keys.`,
};

function notJson(cause: unknown, rule: BodyRule): Fault {
  if (cause instanceof JsonBeyondLimit && cause.excess in EXCESS)
    return new Fault('invalid_json', EXCESS[cause.excess as keyof typeof EXCESS]);
  if (!(cause instanceof SyntaxError))
    return new Fault('invalid_json', 'The body is not valid UTF-8.', { cause });
  // The parser's message repeats a part of the text, which may be a password where cookies are used.
  const isSecret = rule.kind === 'json' && rule.mustSayJson;
  const why = isSecret ? '' : cause.message.replace(/^JSON Parse error: /, '').slice(0, 200);
  return new Fault('invalid_json', `The body is not valid JSON. ${why}`.trim(), { cause });
}

function emptyObject(bytes: number): JsonBody {
  return { value: {}, text: '{}', size: { bytes, characters: 0 } };
}

const BOUNDARY = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;

function boundaryOf(contentType: string): string | undefined {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  return quoted ?? plain;
}

/** The parts of a form, before they are made: that takes time. */
class PartCount implements BodyScan {
  readonly #delimiter: Buffer;
  readonly #most: number;
  /** The last bytes that were received: a delimiter may begin in them. */
  #end: Uint8Array = new Uint8Array(0);
  /** The last delimiter begins no part. */
  #parts = -1;
  isStarted = false;

  constructor(boundary: string, most: number) {
    this.#delimiter = Buffer.from(`--${boundary}`);
    this.#most = most;
  }

  add(piece: Uint8Array): void {
    this.isStarted = true;
    const most = this.#delimiter.length - 1;
    const across = Buffer.concat([this.#end, piece.subarray(0, most)]);
    this.#count(across);
    this.#count(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    this.#end = piece.length >= most ? piece.slice(-most) : across.subarray(-most);
  }

  #count(bytes: Buffer): void {
    const delimiter = this.#delimiter;
    for (let at = bytes.indexOf(delimiter); at !== -1; at = bytes.indexOf(delimiter, at + delimiter.length))
      if (++this.#parts > this.#most)
        throw new Fault('invalid_field', `The form has more than ${this.#most} fields.`);
  }
}

function notAForm(cause?: unknown): Fault {
  return new Fault('invalid_json', 'The body must be a form (multipart/form-data) or JSON.', { cause });
}

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
  const text = issue && issueText(issue, param);
  throw new Fault('invalid_field', text ?? `${param}: ${issue?.message ?? 'is not valid'}`, { param });
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

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  let current: unknown = value;
  for (const key of path)
    current =
      typeof current === 'object' && current !== null
        ? (current as Record<PropertyKey, unknown>)[key]
        : undefined;
  return current;
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
  let reasoning: string[] | undefined;
  // The fields of parsed JSON are its own.
  for (const field in value) {
    const given = value[field];
    const rule = rules.get(field);
    if (given === undefined || (given !== null && rule === HARMLESS)) continue;
    if (given === null || !rule || rule.kind === 'handled_here') {
      (removed ??= new Set()).add(field);
      if (given !== null && !rule) (unknown ??= new Map()).set(field, given);
    } else if (rule.kind === 'synonym') throw synonymFault(field, rule.of);
    else if (rule.kind === 'reasoning') (reasoning ??= []).push(...rule.optionsOf(given));
    else if (rule.kind === 'costly') {
      const cost = rule.costOf(given);
      if (cost) (costly ??= []).push({ field, cost });
    }
  }
  const body = removed ? without(value, removed) : value;
  return {
    body,
    knobs: unknown || costly || reasoning ? knobsOf({ unknown, costly, reasoning }) : undefined,
  };
}

function without(value: Record<string, unknown>, removed: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([field]) => !removed.has(field)));
}

function synonymFault(field: string, of: string): Fault {
  return new Fault('invalid_field', `${field} is not supported. Use ${of} instead.`, { param: field });
}
