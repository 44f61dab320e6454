/**
 * One JSON object per line on standard error. Values are redacted by shape, so that a token that strays into a message
 * or a stack never reaches a file.
 */
export interface Log {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

export function makeLog(write: (line: string) => void, now: () => number = Date.now): Log {
  const emit = (level: string, event: string, fields: LogFields = {}): void => {
    const entry = { time: new Date(now()).toISOString(), level, event, ...plain(fields) };
    write(redact(JSON.stringify(entry)));
  };
  return {
    info: (event, fields) => emit('info', event, fields),
    warn: (event, fields) => emit('warn', event, fields),
    error: (event, fields) => emit('error', event, fields),
  };
}

export const stderrLog: Log = makeLog((line) => process.stderr.write(`${line}\n`));
export const silentLog: Log = makeLog(() => undefined);

/** Our tokens, other providers' keys, bearer headers and `?token=` values all become ‹redacted›. */
export function redact(text: string): string {
  return text
    .replace(/\bsk-[A-Za-z0-9_-]{8,}/g, 'sk-‹redacted›')
    .replace(/([?&]token=)[^&\s"\\]+/gi, '$1‹redacted›')
    .replace(/(bearer\s+)[^\s"\\]+/gi, '$1‹redacted›');
}

function plain(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? describe(value) : value]),
  );
}

function describe(error: Error): Record<string, unknown> {
  const cause = error.cause instanceof Error ? { cause: describe(error.cause) } : {};
  return { name: error.name, message: error.message, stack: error.stack, ...cause };
}
