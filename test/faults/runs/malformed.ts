import { join } from 'node:path';
import fc from 'fast-check';
import { catalogFor } from '../../support/gateway.ts';
import { hostileRequest, sendHostile, type HostileRequest } from '../../support/hostile-requests.ts';
import { NodeProcess } from '../../support/node-process.ts';
import { Operator } from '../../support/operator.ts';
import { rawExchange } from '../../support/raw-client.ts';
import { completion, images, ScriptedBackend, streamed, usage } from '../../support/scripted-backend.ts';
import type { ProbeReport } from './prober.ts';

/** Many random malformed requests, through an HTTP client and as raw bytes, while somebody else looks at `/healthz`. */
export interface MalformedRun {
  readonly statuses: Readonly<Record<string, number>>;
  readonly health: ProbeReport;
  /** What did not hold; none if all is well. */
  readonly faults: readonly string[];
}

export interface MalformedOptions {
  readonly requests: number;
  readonly seed: number;
  readonly databaseUrl?: string;
  onProgress?(done: number): void;
}

export const MALFORMED_REQUESTS = 100_000;
const TOGETHER = 25;
const GENERATED_AT_ONCE = 1_000;
/** One in so many is sent as raw bytes, some of which are damaged. */
const RAW_ONE_IN = 50;
/** What RFC 9110 has for a damaged version in the request line; no request has been made then. */
const WRONG_VERSION = 505;
const MOST_P99_MS = 100;
const MAX_FAULTS = 20;

export async function runMalformed(options: MalformedOptions): Promise<MalformedRun> {
  const backend = wellBehavedBackend();
  const node = await NodeProcess.start({
    yaml: catalogFor([backend.baseUrl]),
    ...(options.databaseUrl === undefined ? {} : { databaseUrl: options.databaseUrl }),
  });
  const operator = await Operator.open(node.env);
  try {
    const { token } = await operator.account('1000');
    // The console's pages are bundled once, when they are first asked for.
    await fetch(node.url).then((page) => page.text());
    const prober = Bun.spawn([process.execPath, join(import.meta.dir, 'prober.ts'), node.url], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const { statuses, faults } = await sendAll(node.url, token, options);
    await prober.stdin.end();
    const health = (await new Response(prober.stdout).json()) as ProbeReport;
    if (health.failed > 0) faults.push(`${health.failed} of ${health.probes} probes failed`);
    if (health.p99Ms >= MOST_P99_MS) faults.push(`a probe waited ${health.p99Ms} ms (p99)`);
    if (!node.alive) return { statuses, health, faults: [...faults, 'the gateway has ended'] };
    await operator.settled();
    const { code, output } = await node.cli('verify', '--full', '--json');
    if (code !== 0) faults.push(`verify: ${output}`);
    if (node.log.includes(token)) faults.push('the token is in the log');
    return { statuses, health, faults };
  } finally {
    await operator.close();
    await node.stop();
    await backend.stop();
  }
}

async function sendAll(url: string, token: string, { requests, seed, onProgress }: MalformedOptions) {
  const statuses: Record<string, number> = {};
  const faults: string[] = [];
  for (let sent = 0; sent < requests && faults.length < MAX_FAULTS; sent += GENERATED_AT_ONCE) {
    const numRuns = Math.min(GENERATED_AT_ONCE, requests - sent);
    const generated = fc.sample(hostileRequest, { numRuns, seed: seed + sent });
    for (let from = 0; from < generated.length; from += TOGETHER) {
      await Promise.all(
        generated.slice(from, from + TOGETHER).map(async (request, index) => {
          const isRaw = (from + index) % RAW_ONE_IN === 0;
          const answer = await (isRaw ? sendRaw : sendHostile)(url, token, request);
          statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
          const told = `${request.method} ${request.path}: ${answer.status} ${answer.text.slice(0, 200)}`;
          if (answer.status >= 500 && answer.status !== WRONG_VERSION) faults.push(told);
          else if (answer.status >= 400 && !isRaw && answer.text !== '' && !answer.text.includes('"error"'))
            faults.push(`without a reason: ${told}`);
        }),
      );
    }
    onProgress?.(sent + numRuns);
  }
  return { statuses, faults };
}

/** The request as bytes, with one of them replaced by each byte of its body in turn. Status 0 is a closed connection. */
async function sendRaw(url: string, token: string, { method, path, body }: HostileRequest) {
  const head = `${method} ${path} HTTP/1.1\r\nhost: gate\r\nauthorization: Bearer ${token}\r\ncontent-length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), body]);
  body.forEach((byte, index) => {
    if (index % 40 === 0) bytes[(byte * 7 + index) % bytes.length] = byte;
  });
  const { statuses, text } = await rawExchange(url, [bytes], { firstMs: 300, quietMs: 50 });
  return { status: Math.max(0, ...statuses), text };
}

function wellBehavedBackend(): ScriptedBackend {
  const backend = new ScriptedBackend();
  backend.script(({ path, body }) => {
    if (path.endsWith('/images/generations')) return images(Number(body['n'] ?? 1));
    return body['stream'] === true
      ? streamed(['x'], { prompt: 1, completion: 1 })
      : completion('x', usage(1, 1));
  });
  return backend;
}
