import { LogBursts } from './log-bursts.ts';

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

/** What a line is found by comes first, and no field takes its place. */
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

export const stderrLog: Log = {
  ...makeLog(
    (line) => process.stderr.write(`${line}\n`),
    Date.now,
    (level) => LOG_LEVELS.indexOf(level) >= leastLevel,
  ),
  lines: (text) => new Promise((resolve) => process.stderr.write(`${text}\n`, () => resolve())),
};
export const silentLog: Log = makeLog(() => undefined);

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
