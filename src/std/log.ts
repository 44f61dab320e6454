/**
 * One JSON object per line on standard error. Values are redacted by their format, so that a token inside a message or a
 * stack trace never reaches a log file.
 */
export interface Log {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Writes finished lines, whatever their level. Resolves when they were handed on. */
  lines(text: string): Promise<void>;
  /** Tells now how many lines of a burst were left out, instead of at the end of its period. */
  endBursts(): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

/** From the least important to the most. */
export const LOG_LEVELS = ['info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** `isWritten` is asked for each line, so that the level can change while the log is in use. */
export function makeLog(
  write: (line: string) => void,
  now: () => number = Date.now,
  isWritten: (level: LogLevel) => boolean = () => true,
): Log {
  const writeLine = (level: LogLevel, event: string, fields: LogFields): void =>
    write(logLine({ timeMs: now(), level, event }, withErrorFields(fields)));
  const bursts = new LogBursts((leftOut) => {
    for (const { of, about, level, lines } of leftOut)
      writeLine(level, 'lines_left_out', { of, ...about, lines });
  });
  const emit = (level: LogLevel, event: string, fields: LogFields = {}): void => {
    if (isWritten(level) && bursts.admits(event, level, fields)) writeLine(level, event, fields);
  };
  return {
    info: (event, fields) => emit('info', event, fields),
    warn: (event, fields) => emit('warn', event, fields),
    error: (event, fields) => emit('error', event, fields),
    async lines(text) {
      for (const line of text.split('\n')) write(line);
    },
    endBursts: () => bursts.end(),
  };
}

/** The fields by which a line is found come first, and no other field can replace them. */
export function logLine(
  { timeMs, level, event }: { readonly timeMs: number; readonly level: LogLevel; readonly event: string },
  fields: LogFields,
): string {
  const own = { time: new Date(timeMs).toISOString(), level, event };
  return redact(JSON.stringify({ ...own, ...fields, ...own }));
}

let leastLevel = 0;

/** From now on standard error gets lines of this level and above. */
export function setLogLevel(level: LogLevel): void {
  leastLevel = LOG_LEVELS.indexOf(level);
}

const known = new Set<string>();
/** More provider keys than several catalogs have; beyond this many the oldest are forgotten. */
const MAX_KNOWN = 1_000;
/** Shorter values are words, and removing them would damage ordinary text. */
const LEAST_KNOWN = 8;

/** From now on this value never reaches a log, whatever its form. */
export function hideFromLogs(secret: string): void {
  if (secret.length < LEAST_KNOWN) return;
  known.delete(secret);
  known.add(secret);
  const [oldest] = known;
  if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
}

/** Known secrets, our tokens, other providers' keys, bearer headers and `?token=` values all become ‹redacted›. */
export function redact(text: string): string {
  let clean = text;
  for (const secret of known) if (clean.includes(secret)) clean = clean.replaceAll(secret, '‹redacted›');
  return clean
    .replace(/\bsk-[A-Za-z0-9_-]{8,}/g, 'sk-‹redacted›')
    .replace(/([?&]token=)[^&\s"\\]+/gi, '$1‹redacted›')
    .replace(/(bearer\s+)[^\s"\\]+/gi, '$1‹redacted›');
}

function withErrorFields(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? errorFields(value) : value]),
  );
}

function errorFields(error: Error): Record<string, unknown> {
  const cause = error.cause instanceof Error ? { cause: errorFields(error.cause) } : {};
  return { name: error.name, message: error.message, stack: error.stack, ...cause };
}

/**
 * How many lines of each kind were written within the current period, and how many were left out: while a database or a
 * backend is away every request fails alike, and a thousand equal lines a second would hide the others and fill the disk.
 */
class LogBursts {
  readonly #onPeriodEnd: (leftOut: readonly LeftOutLines[]) => void;
  readonly #kinds = new Map<string, Burst>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `onPeriodEnd` is called at the end of a period in which lines were left out. */
  constructor(onPeriodEnd: (leftOut: readonly LeftOutLines[]) => void) {
    this.#onPeriodEnd = onPeriodEnd;
  }

  /** Whether this line is to be written; one that is not is counted. */
  admits(event: string, level: LeftOutLines['level'], fields: Readonly<Record<string, unknown>>): boolean {
    if (event in NEVER_LEFT_OUT) return true;
    const burst = this.#burstOf(event, fields);
    burst.level = level;
    if (burst.written < LINES_IN_PERIOD) {
      burst.written++;
      return true;
    }
    burst.lines++;
    return false;
  }

  /** Ends the period now. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const leftOut = [...this.#kinds.values()].filter(({ lines }) => lines > 0);
    this.#kinds.clear();
    if (leftOut.length > 0) this.#onPeriodEnd(leftOut);
  }

  #burstOf(event: string, { code, backend }: Readonly<Record<string, unknown>>): Burst {
    this.#startPeriod();
    const about = {
      ...(typeof code === 'string' ? { code } : {}),
      ...(typeof backend === 'string' ? { backend } : {}),
    };
    const key = this.#kinds.size < MAX_KINDS ? JSON.stringify([event, about]) : event;
    let burst = this.#kinds.get(key);
    if (!burst) {
      burst = { of: event, about: key === event ? {} : about, level: 'info', written: 0, lines: 0 };
      this.#kinds.set(key, burst);
    }
    return burst;
  }

  #startPeriod(): void {
    this.#timer ??= setTimeout(() => this.end(), PERIOD_MS);
    // A process that has nothing else to do ends.
    this.#timer.unref();
  }
}

/** Lines of one kind: of one event, and where they have them of one code and one backend. */
interface LeftOutLines {
  readonly of: string;
  readonly about: Readonly<Record<string, string>>;
  readonly level: 'info' | 'warn' | 'error';
  readonly lines: number;
}

interface Burst extends LeftOutLines {
  level: LeftOutLines['level'];
  written: number;
  lines: number;
}

const PERIOD_MS = 10_000;
const LINES_IN_PERIOD = 20;
/** Many times the events that exist; beyond them codes and backends are not told apart. */
const MAX_KINDS = 1_000;

/** Each of these lines is about money that nothing else may tell of, with the reason. */
export const NEVER_LEFT_OUT: Readonly<Record<string, string>> = {
  settlement_failed: 'a charge that is not booked yet; if the process dies now, the line says which',
  settlement_retry_queue_full: 'a charge that will be booked by the last meter reading only',
  progress_unknown: 'what was delivered could not be read, so a crash now would charge too little',
  meter_refused: 'a meter reading that was not taken over',
  request_lost_its_lease: 'a request that another node has closed at what was known there',
  request_abandoned: 'a hold that its request has left behind',
  request_outlived_deadlines: 'a hold that should have ended',
  holds_restored: 'holds that were missing in the database and were written again',
  overrun: 'what a backend used beyond a hold: a loss of the operator',
  margin_below_zero: 'a request that cost more than it brought',
  usage_without_price: 'usage that was charged by another price than its own',
  ledger_invariant_violated: 'books that do not add up',
  receipts_not_archived: 'receipts whose sum differs from what was charged',
  payment_lost: 'money that went back to its payer and could not be taken from the account',
  payment_refused: 'a payment that was not credited',
  automatic_top_up_unanswered: 'a card that may have been charged',
  image_request_interrupted: 'images that a backend may bill and nobody was charged for',
};

// Made when this file is read, so they come after what they are made of.
export const stderrLog: Log = {
  ...makeLog(
    (line) => process.stderr.write(`${line}\n`),
    Date.now,
    (level) => LOG_LEVELS.indexOf(level) >= leastLevel,
  ),
  lines: (text) => new Promise((resolve) => process.stderr.write(`${text}\n`, () => resolve())),
};
export const silentLog: Log = makeLog(() => undefined);
