/**
 * The messages of OTLP 1.x that a collector may get, as data, by
 * https://github.com/open-telemetry/opentelemetry-proto (trace_service.proto, metrics_service.proto and what they
 * import). One table reads both encodings, and what is not in it is refused.
 */
type Scalar = 'string' | 'bytes' | 'bool' | 'varint' | 'fixed64' | 'fixed32' | 'double';

interface Field {
  readonly name: string;
  /** A scalar, or the name of a message. */
  readonly type: string;
  readonly isRepeated: boolean;
}

type Message = ReadonlyMap<number, Field>;

const SCALARS: ReadonlySet<string> = new Set<Scalar>([
  'string',
  'bytes',
  'bool',
  'varint',
  'fixed64',
  'fixed32',
  'double',
]);

/** `number name type`, with `[]` behind the type of a repeated field. */
const TABLE: Readonly<Record<string, string>> = {
  ExportTraceServiceRequest: '1 resourceSpans ResourceSpans[]',
  ResourceSpans: '1 resource Resource, 2 scopeSpans ScopeSpans[], 3 schemaUrl string',
  ScopeSpans: '1 scope Scope, 2 spans Span[], 3 schemaUrl string',
  Span:
    '1 traceId bytes, 2 spanId bytes, 3 traceState string, 4 parentSpanId bytes, 5 name string, 6 kind varint, ' +
    '7 startTimeUnixNano fixed64, 8 endTimeUnixNano fixed64, 9 attributes KeyValue[], 10 droppedAttributesCount varint, ' +
    '11 events Event[], 12 droppedEventsCount varint, 13 links Link[], 14 droppedLinksCount varint, 15 status Status, 16 flags fixed32',
  Event: '1 timeUnixNano fixed64, 2 name string, 3 attributes KeyValue[], 4 droppedAttributesCount varint',
  Link: '1 traceId bytes, 2 spanId bytes, 3 traceState string, 4 attributes KeyValue[], 5 droppedAttributesCount varint, 6 flags fixed32',
  Status: '2 message string, 3 code varint',
  Resource: '1 attributes KeyValue[], 2 droppedAttributesCount varint',
  Scope: '1 name string, 2 version string, 3 attributes KeyValue[], 4 droppedAttributesCount varint',
  KeyValue: '1 key string, 2 value AnyValue',
  AnyValue:
    '1 stringValue string, 2 boolValue bool, 3 intValue varint, 4 doubleValue double, 5 arrayValue ArrayValue, 7 bytesValue bytes',
  ArrayValue: '1 values AnyValue[]',
  ExportMetricsServiceRequest: '1 resourceMetrics ResourceMetrics[]',
  ResourceMetrics: '1 resource Resource, 2 scopeMetrics ScopeMetrics[], 3 schemaUrl string',
  ScopeMetrics: '1 scope Scope, 2 metrics Metric[], 3 schemaUrl string',
  Metric:
    '1 name string, 2 description string, 3 unit string, 5 gauge Gauge, 7 sum Sum, 9 histogram Histogram',
  Gauge: '1 dataPoints NumberPoint[]',
  Sum: '1 dataPoints NumberPoint[], 2 aggregationTemporality varint, 3 isMonotonic bool',
  Histogram: '1 dataPoints HistogramPoint[], 2 aggregationTemporality varint',
  NumberPoint:
    '7 attributes KeyValue[], 2 startTimeUnixNano fixed64, 3 timeUnixNano fixed64, 4 asDouble double, 6 asInt fixed64, 8 flags varint',
  HistogramPoint:
    '9 attributes KeyValue[], 2 startTimeUnixNano fixed64, 3 timeUnixNano fixed64, 4 count fixed64, 5 sum double, ' +
    '6 bucketCounts fixed64[], 7 explicitBounds double[], 10 flags varint, 11 min double, 12 max double',
};

const MESSAGES: ReadonlyMap<string, Message> = new Map(
  Object.entries(TABLE).map(([name, text]) => [name, new Map(text.split(', ').map(fieldOf))]),
);

function fieldOf(text: string): [number, Field] {
  const [number, name = '', type = ''] = text.split(' ');
  return [Number(number), { name, type: type.replace('[]', ''), isRepeated: type.endsWith('[]') }];
}

function messageOf(name: string): Message {
  const message = MESSAGES.get(name);
  if (!message) throw new Error(`there is no message ${name}`);
  return message;
}

export type Decoded = Record<string, unknown>;

/** Protobuf's wire format: https://protobuf.dev/programming-guides/encoding/. */
export function decodeProtobuf(bytes: Uint8Array, name: string): Decoded {
  const reader = new Reader(bytes);
  const message = messageOf(name);
  const decoded: Decoded = {};
  while (!reader.isDone) {
    const tag = Number(reader.varint());
    const field = message.get(tag >>> 3);
    if (!field) throw new Error(`${name} has no field ${tag >>> 3}`);
    const values = valuesOf(reader, tag & 7, field);
    if (field.isRepeated) decoded[field.name] = [...((decoded[field.name] as unknown[]) ?? []), ...values];
    else [decoded[field.name]] = values;
  }
  return decoded;
}

const WIRE_TYPES: Readonly<Record<Scalar, number>> = {
  varint: 0,
  bool: 0,
  fixed64: 1,
  double: 1,
  string: 2,
  bytes: 2,
  fixed32: 5,
};

function valuesOf(reader: Reader, wireType: number, { name, type, isRepeated }: Field): unknown[] {
  if (!SCALARS.has(type)) {
    if (wireType !== 2) throw new Error(`${name} has the wire type ${wireType}`);
    return [decodeProtobuf(reader.delimited(), type)];
  }
  const scalar = type as Scalar;
  // Repeated numbers are packed.
  if (isRepeated && wireType === 2 && WIRE_TYPES[scalar] !== 2) {
    const packed = new Reader(reader.delimited());
    const values: unknown[] = [];
    while (!packed.isDone) values.push(packed.scalar(scalar));
    return values;
  }
  if (wireType !== WIRE_TYPES[scalar]) throw new Error(`${name} has the wire type ${wireType}`);
  return [reader.scalar(scalar)];
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isDone(): boolean {
    return this.#at === this.#bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#view.getUint8(this.#at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Error('a varint has more than ten bytes');
  }

  delimited(): Uint8Array {
    const length = Number(this.varint());
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Error('a field is longer than its message');
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }

  /** As OTLP's JSON has it: ids in hexadecimal digits, numbers of 64 bits as text. */
  scalar(type: Scalar): unknown {
    switch (type) {
      case 'varint':
        return Number(this.varint());
      case 'bool':
        return this.varint() === 1n;
      case 'string':
        return new TextDecoder('utf-8', { fatal: true }).decode(this.delimited());
      case 'bytes':
        return Buffer.from(this.delimited()).toString('hex');
      case 'fixed32':
        return this.#view.getUint32(this.#skip(4), true);
      case 'fixed64':
        return this.#view.getBigUint64(this.#skip(8), true).toString();
      case 'double':
        return this.#view.getFloat64(this.#skip(8), true);
    }
  }

  #skip(length: number): number {
    const at = this.#at;
    this.#at += length;
    return at;
  }
}

/** OTLP's own JSON: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. */
export function requireMessage(value: unknown, name: string): Decoded {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${name} is no object`);
  const fields = new Map([...messageOf(name).values()].map((field) => [field.name, field]));
  for (const [key, inner] of Object.entries(value)) {
    const field = fields.get(key);
    if (!field) throw new Error(`${name} has no field ${key}`);
    if (field.isRepeated !== Array.isArray(inner)) throw new Error(`${key} is repeated, or is not`);
    for (const one of Array.isArray(inner) ? (inner as unknown[]) : [inner]) requireValue(one, field);
  }
  return value as Decoded;
}

function requireValue(value: unknown, { name, type }: Field): void {
  if (!SCALARS.has(type)) return void requireMessage(value, type);
  const isRight: Readonly<Record<Scalar, boolean>> = {
    string: typeof value === 'string',
    bytes: typeof value === 'string' && /^[0-9a-f]*$/.test(value),
    bool: typeof value === 'boolean',
    varint: Number.isInteger(value),
    // 64 bits are text, and a number is accepted too.
    fixed64: Number.isInteger(value) || (typeof value === 'string' && /^\d+$/.test(value)),
    fixed32: Number.isInteger(value),
    double: typeof value === 'number',
  };
  if (!isRight[type as Scalar]) throw new Error(`${name} is not ${type}: ${JSON.stringify(value)}`);
}
