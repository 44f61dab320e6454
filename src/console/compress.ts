import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Smaller answers fit into a packet or two as they are. */
const LEAST_CHARACTERS = 1_400;
/** Higher ones take several times as long for a few percent. */
const GZIP = { level: 5 };
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

const toGzip = promisify(gzip);
const toBrotli = promisify(brotliCompress);

export type ContentEncoding = 'br' | 'gzip';

/** The encoding to use for a client, by its `Accept-Encoding`; `undefined`: none. */
export function encodingFor(accepted: string | null): ContentEncoding | undefined {
  const names = new Set(
    (accepted ?? '')
      .toLowerCase()
      .split(',')
      .map((one) => one.split(';').map((part) => part.trim()))
      .filter(([, weight]) => weight === undefined || !/^q=0(?:\.0*)?$/.test(weight))
      .map(([name]) => name),
  );
  if (names.has('br')) return 'br';
  return names.has('gzip') ? 'gzip' : undefined;
}

/** Compressed on another thread, so that nobody else waits. `undefined`: it is too short to gain by it. */
export async function compressedJson(
  text: string,
  encoding: ContentEncoding,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (text.length < LEAST_CHARACTERS) return undefined;
  const bytes = await (encoding === 'br' ? toBrotli(text, BROTLI) : toGzip(text, GZIP));
  return new Uint8Array(bytes);
}
