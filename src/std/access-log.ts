import { logLine, type Log, type LogFields } from './log.ts';
import { formatUsd, nanoUsd } from './money.ts';
import { requestTime } from './ids.ts';
import { requestLogFields, whenOver, type RequestRecord } from './request-record.ts';
import type { TraceContext } from './trace.ts';

/** What the server knows about an answer. */
export interface AnsweredRequest {
  readonly method: string;
  /** The path of the operation; what varies in it is not logged, because it may be a secret. */
  readonly path: string;
  readonly status: number;
  readonly address: string;
}

interface AccessLogOptions {
  readonly log: Log;
  readonly now: () => number;
  /** For tests. */
  readonly random?: () => number;
}

/** Lines that wait to be written. Beyond them the newest are dropped and counted. */
const MAX_WAITING = 10_000;
const LINES_PER_WRITE = 500;
const WRITE_AFTER_MS = 50;

/**
 * One line for each answered request, or for a share of them. A request only leaves its fields here; the text is made
 * and written later, one write at a time, so that logging delays no client and a slow reader of the log fills no
 * memory.
 */
export class AccessLog {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #random: () => number;
  #share = 0;
  #waiting: LogFields[] = [];
  #dropped = 0;
  #writing: Promise<void> | undefined;

  constructor({ log, now, random = Math.random }: AccessLogOptions) {
    this.#log = log;
    this.#now = now;
    this.#random = random;
  }

  /** From now on this share of the requests is logged: 0 is none, 1 is all. */
  setShare(share: number): void {
    this.#share = share;
  }

  get isOn(): boolean {
    return this.#share > 0;
  }

  /** A request has its answer. The line of a stream is written when it ends. */
  answered(requestRecord: RequestRecord, answer: AnsweredRequest): void {
    if (this.#share < 1 && this.#random() >= this.#share) return;
    whenOver(requestRecord, () => this.#add(requestRecord, answer));
  }

  /** Resolves when every line so far was handed on. */
  async written(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  #add(requestRecord: RequestRecord, answer: AnsweredRequest): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#dropped++;
      return;
    }
    const nowMs = this.#now();
    this.#waiting.push({
      time: nowMs,
      ...requestLogFields(requestRecord),
      ...answer,
      duration_ms: nowMs - requestTime(requestRecord.requestId),
      ...endFields(requestRecord),
    });
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    try {
      await Bun.sleep(WRITE_AFTER_MS);
      while (this.#waiting.length > 0) {
        const lines = this.#waiting.splice(0, LINES_PER_WRITE).map(lineOf);
        await this.#log.lines(lines.join('\n'));
      }
    } finally {
      this.#writing = undefined;
    }
    if (this.#dropped === 0) return;
    this.#log.warn('access_lines_dropped', { lines: this.#dropped });
    this.#dropped = 0;
  }
}

function endFields({ end }: RequestRecord): LogFields {
  if (!end) return {};
  const { ending, usage, charged } = end;
  return {
    backend: ending.upstream,
    outcome: ending.outcome,
    error: ending.errorCode,
    first_byte_ms: ending.firstByteMs,
    ...(usage && {
      input_tokens: usage.input,
      output_tokens: usage.output,
      images: usage.images === 0 ? undefined : usage.images,
    }),
    charged_usd: charged === undefined ? undefined : formatUsd(nanoUsd(charged)),
  };
}

function lineOf({ time, ...fields }: LogFields): string {
  return logLine({ timeMs: Number(time), level: 'info', event: 'request' }, fields);
}

/** A path that no operation declares: words stay, and everything that may be a secret, a name or an id is hidden. */
export function loggedPath(path: string): string {
  const segments = path.split('/', MAX_SEGMENTS + 1).map((segment) => (WORD.test(segment) ? segment : '*'));
  return segments.join('/');
}

const MAX_SEGMENTS = 6;
const WORD = /^(?:[a-z][a-z-]{0,23}|v1)?$/;

/**
 * Follows requests as spans of a distributed trace. Absent unless somebody collects them; whatever becomes of them, no
 * request waits for it or fails because of it.
 */
export interface RequestSpans {
  /** A backend is about to be called. `undefined`: this request is not sampled. */
  attempt(requestRecord: RequestRecord, upstream: string, model: string): AttemptSpan | undefined;
  /** A request has its answer; a stream's span ends with it. */
  answered(requestRecord: RequestRecord, answer: AnsweredRequest): void;
  /** Work that goes on after its request was answered has a span of its own. */
  detached(requestRecord: RequestRecord): void;
}

/** One that is not told of a failure ends with its request. */
export interface AttemptSpan {
  /** What the backend gets: this attempt is the parent of whatever it does. `undefined`: traces are not passed on. */
  readonly trace: TraceContext | undefined;
  failed(kind: string, status: number | undefined): void;
}
