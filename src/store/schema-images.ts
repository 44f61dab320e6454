import type { ColumnType } from 'kysely';
import type { ImagePlace } from './image-objects.ts';

/** May be left out of an insert; absent means NULL. */
type Nullable<T> = ColumnType<T | null, T | null | undefined, T | null>;

export interface ImageSchema {
  image: ImageTable;
  image_object: ImageObjectTable;
  image_thumbnail: ImageThumbnailTable;
}

export interface ImageTable {
  id: string;
  account_id: string;
  request_id: string;
  mime: string;
  /** Empty if they are elsewhere. */
  bytes: Uint8Array;
  size: number;
  prompt: string;
  created_at: number;
  expires_at: number;
  /** Where the bytes are, if not in this row. */
  object: Nullable<string>;
  /** In pixels; absent for images from before these were kept, and where the format does not say. */
  width: Nullable<number>;
  height: Nullable<number>;
  /** JSON of the request's other fields, to make it again. */
  parameters: Nullable<string>;
}

/** Bytes that are kept outside of the database, by their content. */
export interface ImageObjectTable {
  /** The account, and the hash of the bytes with what tells two objects of the same bytes apart. */
  id: string;
  account_id: string;
  place: ImagePlace;
  hash: string;
  /** 0: no image has it, or none yet. */
  is_used: number;
  changed_at: number;
}

export interface ImageThumbnailTable {
  image_id: string;
  account_id: string;
  bytes: Uint8Array;
}
