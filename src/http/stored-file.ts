/** Something that is stored and sent as it is. */
interface StoredFile {
  /** In bytes. */
  readonly size: number;
  /** `undefined`: it is gone. */
  body(): Promise<Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined>;
}

/**
 * Answers with what is stored, at the reader's pace; `undefined` if it is gone. The length is told where Bun can: with a
 * stream as its body an answer is sent in chunks, except to HEAD.
 */
export async function storedFileAnswer(
  file: StoredFile,
  { method }: Request,
  headers: Readonly<Record<string, string>>,
): Promise<Response | undefined> {
  const body = await file.body();
  return (
    body &&
    new Response(method === 'HEAD' ? null : body, {
      headers: { ...headers, 'content-length': String(file.size) },
    })
  );
}
