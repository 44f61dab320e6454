/** The bytes from `start` to before `end`; `undefined`: there is nothing stored any more. */
export type ReadPart = (start: number, end: number) => Promise<Uint8Array<ArrayBuffer> | undefined>;

/** How much of a stored image is in memory for one reader, however slowly it reads. */
const PIECE_BYTES = 262_144;

/**
 * The body of an answer that is read from its store while it is sent: each piece when the reader has taken the one before.
 * The first is read at once, so that what is gone, or cannot be read, still has a status.
 */
export async function sentInPieces(
  size: number,
  read: ReadPart,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined> {
  const next = (start: number) => read(start, Math.min(size, start + PIECE_BYTES));
  let first = await next(0);
  if (!first || first.byteLength >= size) return first;
  let sent = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = first ?? (await next(sent));
        first = undefined;
        // The reader sees that the connection breaks before the end.
        if (!piece || piece.byteLength === 0) throw new Error('deleted while it was sent');
        sent += piece.byteLength;
        controller.enqueue(piece);
        if (sent >= size) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}
