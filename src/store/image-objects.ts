import { Fault } from '../std/fault.ts';

export type ImagePlace = 'files' | 's3';

/**
 * Keeps the bytes of images outside of the database. A key is written once and never changed. Every failure is a
 * `service_unavailable`.
 */
export interface ImageObjects {
  readonly place: ImagePlace;
  /** Where the images are, for the operator. */
  readonly address: string;
  /** When it resolves the object is whole and survives a power cut. */
  put(key: string, bytes: Uint8Array, mime: string): Promise<void>;
  /** The bytes from `start` to before `end`; `undefined`: there is no such object. */
  read(key: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** The object as a file that the server itself sends to a reader; absent where objects are no files of this machine. */
  file?(key: string): Promise<Blob | undefined>;
  /** A missing object counts as deleted. */
  delete(key: string): Promise<void>;
}

/** Where images are stored: new ones in the first of these, or in the rows of the database if there is none. */
export type ImageStorages = readonly ImageObjects[];

const RETRY_MS = 2_000;

export function imagesUnavailable(cause: unknown): Fault {
  return new Fault('service_unavailable', 'Images cannot be kept or read at the moment. Try again soon.', {
    cause,
    detail: cause instanceof Error ? cause.message : String(cause),
    retryAfterMs: RETRY_MS,
  });
}
