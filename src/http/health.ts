import { Fault } from '../std/fault.ts';
import { sameSecret } from '../std/same-secret.ts';
import { NO_BODY } from './request-body.ts';
import { PLAIN_ERRORS } from './response.ts';
import type { HttpRoute, IncomingRequest } from './router.ts';

interface Health {
  /** Runs a small query. */
  storeAnswers(): Promise<boolean>;
  draining(): boolean;
  metrics(): Promise<string>;
  /** Decides who may read the metrics. */
  readonly guard: Pick<MetricsGuard, 'check'>;
}

/** For process supervisors, load balancers and monitoring. */
export function healthRoutes(health: Health): HttpRoute[] {
  return [
    probe('/healthz', async () => plain('ok')),
    probe('/readyz', async () => await ready(health)),
    probe('/metrics', async (incoming) => {
      health.guard.check(incoming);
      return metricsResponse(await health.metrics());
    }),
  ];
}

function probe(path: string, handle: HttpRoute['handle']): HttpRoute {
  return { method: 'GET', path, door: 'probe', body: NO_BODY, errors: PLAIN_ERRORS, handle };
}

export function metricsResponse(text: string): Response {
  return plain(text.trimEnd(), 200, 'text/plain; version=0.0.4');
}

async function ready(health: Health): Promise<Response> {
  if (health.draining()) return plain('draining', 503);
  return (await health.storeAnswers()) ? plain('ready') : plain('the store does not answer', 503);
}

function plain(text: string, status = 200, type = 'text/plain'): Response {
  return new Response(`${text}\n`, {
    status,
    headers: { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' },
  });
}

/**
 * Metrics show what a business earns, so they need a token, on this machine too: a proxy in front comes from it as well,
 * and nothing in its requests need say so. Without one they are at an address of their own (`metrics-server.ts`).
 */
export class MetricsGuard {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  /** Throws unless the metrics may be read. */
  check({ request }: Pick<IncomingRequest, 'request'>): void {
    const [, given] = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
    if (given === undefined)
      throw new Fault(
        'missing_token',
        'Send the token for metrics as `Authorization: Bearer …`; `tollgate metrics token` prints it.',
      );
    if (!sameSecret(given, this.#token))
      throw new Fault('invalid_token', 'The token for metrics is not valid.');
  }
}
