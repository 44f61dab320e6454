/**
 * Reads the body of a request or an answer that may not be larger than we allow, whatever its headers say. `tooLarge`
 * makes the error, and is told how large the body is as far as that is known.
 */
export async function readBounded(
  message: Request | Response,
  maxBytes: number,
  tooLarge: (size: string) => Error,
  mark?: BodyMark,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = Number(message.headers.get('content-length') ?? Number.NaN);
  if (declared > maxBytes) {
    // A client's connection is the server's to close; a backend's would stay open for a body that nobody reads.
    if (message instanceof Response) await message.body?.cancel();
    throw tooLarge(`${declared} bytes`);
  }
  // A declared length is enforced by the protocol, and reading at once is a good deal cheaper than chunk by chunk.
  if (!Number.isNaN(declared)) return new Uint8Array(await message.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of message.body ?? []) {
    total += chunk.byteLength;
    if (mark && total > mark.bytes && total - chunk.byteLength <= mark.bytes) await mark.onReached();
    if (total > maxBytes) throw tooLarge(`more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] ? new Uint8Array(chunks[0]) : new Uint8Array(Buffer.concat(chunks));
}

/** Called when more than so many bytes of a body without a declared length have arrived; what it throws ends the reading. */
interface BodyMark {
  readonly bytes: number;
  onReached(): Promise<void>;
}
