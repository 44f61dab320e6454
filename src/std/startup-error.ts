/** Tollgate cannot start with its configuration; the message tells the operator what to change, so no stack is printed. */
export class StartupError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StartupError';
  }
}
