/** Tollgate cannot start with its configuration; the message tells the operator what to change, so no stack is printed. */
export class StartupError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StartupError';
  }
}

/** A setting has a value that it cannot have. */
export class SettingError extends StartupError {
  constructor(message: string) {
    super(message);
    this.name = 'SettingError';
  }
}
