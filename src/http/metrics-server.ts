import { StartupError } from '../std/startup-error.ts';
import { metricsResponse } from './health.ts';

interface MetricsServerOptions {
  readonly host: string;
  readonly port: number;
  /** Other processes listen on the same port. */
  readonly shared: boolean;
  metrics(): Promise<string>;
}

/** Nothing but the metrics, for everybody who can reach the address. */
export function startMetricsServer(options: MetricsServerOptions): {
  readonly port: number;
  stop(): Promise<void>;
} {
  try {
    const server = Bun.serve({
      hostname: options.host,
      port: options.port,
      reusePort: options.shared,
      development: false,
      routes: { '/metrics': { GET: async () => metricsResponse(await options.metrics()) } },
      fetch: () => new Response('Only /metrics is here.\n', { status: 404 }),
      error: () => new Response('The metrics cannot be read right now.\n', { status: 503 }),
    });
    return { port: server.port ?? options.port, stop: () => server.stop(true) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartupError(
      `The metrics cannot be served on ${options.host}:${options.port} (TOLLGATE_METRICS_ADDRESS): ${reason}`,
      error,
    );
  }
}
