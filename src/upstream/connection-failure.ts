import { UpstreamFailure } from './port.ts';

/**
 * The failure behind an error of `fetch`, or of reading an answer. `connect` means that the backend cannot have seen
 * the request. Anything else is `connection_lost`: the backend may be working on it, and will bill it.
 */
export function connectionFailure(cause: unknown, host?: string): UpstreamFailure {
  const text = cause instanceof Error ? cause.message : String(cause);
  const message = host === undefined ? text : `cannot reach ${host}: ${text}`;
  return new UpstreamFailure(wasSent(cause) ? 'connection_lost' : 'connect', message, { cause });
}

/** Errors of name resolution, of the connection's set-up and of the TLS handshake, by Bun's and OpenSSL's names. */
const NOT_SENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|CERT_\w+|HOSTNAME_MISMATCH|ERR_TLS_\w+|ERR_SSL_\w+)$/;

function wasSent(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code !== 'string' || !NOT_SENT.test(code);
}
