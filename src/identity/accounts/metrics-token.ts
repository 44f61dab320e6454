import type { Secret } from './secret.ts';

/**
 * What lets its bearer read `/metrics`: the operator's choice, or else derived from the secret, so that it is the same on
 * every node and in every worker without being kept anywhere.
 */
export function metricsToken(given: string | undefined, secret: Secret): string {
  return given ?? `metrics-${Buffer.from(secret.key('metrics')).toString('base64url')}`;
}
