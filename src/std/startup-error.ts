/** Tollgate cannot start as it is configured; the message tells the operator what to change and needs no stack. */
export class StartupError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StartRefused';
  }
}
