import type { MetricsGuard } from './metrics-guard.ts';
import type { HttpRoute } from './router.ts';

export interface Health {
  /** Runs a small query. */
  storeAnswers(): Promise<boolean>;
  draining(): boolean;
  metrics(): Promise<string>;
  /** Who may read them. */
  readonly guard: Pick<MetricsGuard, 'check'>;
}

/** For process supervisors, load balancers and monitoring. */
export function healthRoutes(health: Health): HttpRoute[] {
  return [
    { method: 'GET', path: '/healthz', handle: async () => plain('ok') },
    { method: 'GET', path: '/readyz', handle: async () => await ready(health) },
    {
      method: 'GET',
      path: '/metrics',
      handle: async (incoming) => {
        health.guard.check(incoming);
        return metricsResponse(await health.metrics());
      },
    },
  ];
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
