import { inflateSync } from 'node:zlib';

/** What each page of a PDF says, read from its content streams: pieces of text are hexadecimal and in Windows-1252. */
export function pdfPages(bytes: Uint8Array): string[] {
  const raw = Buffer.from(bytes).toString('latin1');
  // By their length: compressed bytes may end in what looks like a line break.
  const streams = [...raw.matchAll(/\/Length (\d+) \/Filter \/FlateDecode >>\nstream\n/g)].map((found) => {
    const start = found.index + found[0].length;
    return inflateSync(bytes.slice(start, start + Number(found[1]))).toString('latin1');
  });
  const decoder = new TextDecoder('windows-1252');
  return streams
    .filter((stream) => stream.includes('BT'))
    .map((stream) =>
      [...stream.matchAll(/<([0-9a-f]*)> Tj/g)]
        .map(([, hex = '']) => decoder.decode(Buffer.from(hex, 'hex')))
        .join('\n'),
    );
}
