/** One HTTP message, as far as its meaning goes: how its body was cut into chunks is not kept. */
export interface Message {
  readonly start: string;
  /** Names in lower case, sorted; what came twice is there twice. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** The connection ended before the message did. */
  readonly isCut: boolean;
}

export interface Framing {
  readonly isRequest: boolean;
  /** Nothing more will come. */
  readonly isClosed: boolean;
  /** The answer to a HEAD has a length and no body. */
  readonly withoutBody?: boolean;
}

/** The first message in the bytes and where it ends; `undefined` while it is not whole. */
export function parseMessage(
  bytes: Buffer,
  framing: Framing,
): { readonly message: Message; readonly size: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const [start = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers = lines
    .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])
    .map(([name = '', value = '']) => [name, value] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const rest = bytes.subarray(headEnd + 4);
  const body = bodyOf(rest, start, headers, framing);
  if (!body && !framing.isClosed) return undefined;
  const message = { start, headers, body: body?.bytes ?? partOf(rest, headers), isCut: !body };
  return { message, size: headEnd + 4 + (body?.size ?? rest.length) };
}

export function headerOf(message: Message, name: string): string | undefined {
  return message.headers.find(([key]) => key === name)?.[1];
}

interface Body {
  readonly bytes: Buffer;
  readonly size: number;
}

const EMPTY: Body = { bytes: Buffer.alloc(0), size: 0 };

function bodyOf(
  rest: Buffer,
  start: string,
  headers: Message['headers'],
  framing: Framing,
): Body | undefined {
  if (framing.withoutBody || / (?:204|304) ?/.test(start.slice(8, 13))) return EMPTY;
  if (isChunked(headers)) {
    const { bytes, size, isWhole } = unchunked(rest);
    return isWhole ? { bytes, size } : undefined;
  }
  const length = headers.find(([name]) => name === 'content-length')?.[1];
  if (length === undefined) return framing.isRequest ? EMPTY : undefined;
  const size = Number(length);
  return rest.length < size ? undefined : { bytes: rest.subarray(0, size), size };
}

/** What there is of a body so far. */
export function partOf(rest: Buffer, headers: Message['headers']): Buffer {
  return isChunked(headers) ? unchunked(rest).bytes : rest;
}

function isChunked(headers: Message['headers']): boolean {
  return headers.some(([name, value]) => name === 'transfer-encoding' && value === 'chunked');
}

function unchunked(rest: Buffer): Body & { readonly isWhole: boolean } {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = rest.indexOf('\r\n', at);
    const size = lineEnd === -1 ? Number.NaN : Number.parseInt(rest.toString('latin1', at, lineEnd), 16);
    const isWhole = size === 0 && rest.length >= lineEnd + 4;
    if (isWhole || Number.isNaN(size) || size === 0)
      return { bytes: Buffer.concat(chunks), size: lineEnd + 4, isWhole };
    chunks.push(rest.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
    if (at > rest.length) return { bytes: Buffer.concat(chunks), size: at, isWhole: false };
  }
}
