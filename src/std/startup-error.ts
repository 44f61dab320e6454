/** Tollgate cannot start with its configuration; the message tells the operator what to change, so no stack is printed. */
export class StartupError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StartupError';
  }
}

/** A setting has an invalid value. */
export class SettingError extends StartupError {
  constructor(message: string) {
    super(message);
    this.name = 'SettingError';
  }
}

/**
 * Explains to the operator why the server cannot listen; an error that is not about the address is returned unchanged.
 */
export function listenFailure(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'EADDRINUSE':
      return new StartupError(
        `Port ${port} on ${host} is already in use. Stop what listens there, or choose another port with TOLLGATE_PORT.`,
        error,
      );
    case 'EACCES':
    case 'EPERM':
      return new StartupError(
        `Listening on port ${port} of ${host} is not permitted. Choose a port from 1024 with TOLLGATE_PORT, or allow this user to use lower ones.`,
        error,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAFNOSUPPORT':
      return new StartupError(
        `'${host}' is not an address of this machine. Set TOLLGATE_HOST to one, such as 127.0.0.1, or 0.0.0.0 for all.`,
        error,
      );
    default:
      return error;
  }
}
