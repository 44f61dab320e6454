import { decodeProtobuf, requireMessage, type Decoded } from './otlp-messages.ts';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2: error. */
  readonly status: number;
}

type Mood = 'well' | 'hangs' | 'fails' | 'lies';

const MESSAGES: Readonly<Record<string, string>> = {
  '/v1/traces': 'ExportTraceServiceRequest',
  '/v1/metrics': 'ExportMetricsServiceRequest',
};

/**
 * A collector that takes OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp) and refuses whatever that
 * document or the messages do not allow. What it refused is kept, for a test to find nothing there.
 */
export class OtlpCollector {
  readonly #server: ReturnType<typeof Bun.serve>;
  readonly spans: CollectedSpan[] = [];
  /** The newest value of each point, by name and attributes. */
  readonly points = new Map<string, Decoded>();
  readonly resources: Readonly<Record<string, unknown>>[] = [];
  readonly headers: Headers[] = [];
  readonly refused: string[] = [];
  /** Everything that arrived. */
  text = '';
  requests = 0;
  mood: Mood = 'well';

  constructor(port = 0) {
    this.#server = Bun.serve({
      port,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: (request) => this.#take(request),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  async #take(request: Request): Promise<Response> {
    this.requests++;
    if (this.mood === 'hangs') return await new Promise<never>(() => undefined);
    if (this.mood === 'fails') return new Response('out of order', { status: 500 });
    if (this.mood === 'lies')
      return new Response('{"partialSuccess":'.repeat(400_000), {
        headers: { 'content-type': 'application/json', 'content-encoding': 'identity' },
      });
    const name = MESSAGES[new URL(request.url).pathname];
    if (request.method !== 'POST' || name === undefined)
      return this.#refuse(404, `nothing at ${request.url}`);
    const type = request.headers.get('content-type');
    const bytes = await request.bytes();
    this.headers.push(request.headers);
    this.text += Buffer.from(bytes).toString('latin1');
    try {
      this.#keep(name, decoded(type, bytes, name));
    } catch (error) {
      return this.#refuse(400, String(error));
    }
    return new Response(type === 'application/json' ? '{}' : new Uint8Array(), {
      headers: { 'content-type': type ?? '' },
    });
  }

  #refuse(status: number, reason: string): Response {
    this.refused.push(reason);
    return new Response(reason, { status });
  }

  #keep(name: string, message: Decoded): void {
    if (name === 'ExportTraceServiceRequest') {
      for (const resource of listOf(message, 'resourceSpans')) {
        this.resources.push(attributesOf(resource['resource'] as Decoded));
        for (const scope of listOf(resource, 'scopeSpans'))
          this.spans.push(...listOf(scope, 'spans').map(spanOf));
      }
      return;
    }
    for (const resource of listOf(message, 'resourceMetrics'))
      for (const scope of listOf(resource, 'scopeMetrics'))
        for (const metric of listOf(scope, 'metrics'))
          for (const kind of ['gauge', 'sum', 'histogram'])
            for (const point of listOf((metric[kind] ?? {}) as Decoded, 'dataPoints'))
              this.points.set(`${String(metric['name'])} ${JSON.stringify(attributesOf(point))}`, point);
  }
}

function decoded(type: string | null, bytes: Uint8Array, name: string): Decoded {
  if (type === 'application/x-protobuf') return decodeProtobuf(bytes, name);
  if (type !== 'application/json') throw new Error(`the content type is ${type}`);
  return requireMessage(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)), name);
}

function listOf(message: Decoded, field: string): Decoded[] {
  return (message[field] ?? []) as Decoded[];
}

function attributesOf(message: Decoded): Record<string, unknown> {
  const pairs = listOf(message, 'attributes').map(({ key, value }) => {
    const [only, ...more] = Object.values(value as Decoded);
    if (only === undefined || more.length > 0) throw new Error(`${String(key)} has no value, or several`);
    return [String(key), only] as const;
  });
  if (new Set(pairs.map(([key]) => key)).size < pairs.length) throw new Error('an attribute is there twice');
  return Object.fromEntries(pairs);
}

const NANO_PER_MS = 1_000_000n;

function spanOf(span: Decoded): CollectedSpan {
  const { traceId, spanId, parentSpanId = '', traceState = '', name, kind, status } = span;
  if (!/^(?!0{32})[0-9a-f]{32}$/.test(String(traceId))) throw new Error('a span has no valid trace id');
  if (!/^(?!0{16})[0-9a-f]{16}$/.test(String(spanId))) throw new Error('a span has no valid id');
  const [start, end] = ['startTimeUnixNano', 'endTimeUnixNano'].map((one) => BigInt(String(span[one])));
  if (start === undefined || end === undefined || start > end)
    throw new Error('a span ends before it begins');
  return {
    traceId: String(traceId),
    spanId: String(spanId),
    parentSpanId: String(parentSpanId),
    traceState: String(traceState),
    name: String(name),
    kind: Number(kind),
    startMs: Number(start / NANO_PER_MS),
    endMs: Number(end / NANO_PER_MS),
    attributes: attributesOf(span),
    status: Number((status as Decoded | undefined)?.['code'] ?? 0),
  };
}
