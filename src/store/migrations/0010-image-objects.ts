import type { Dialect } from '../dialect.ts';

/**
 * Images outside of the database. A row of `image_object` is written before its object, so that no crash leaves one that
 * nothing tells about: it is in use from when an image has it until the last one that had it is deleted. An image without
 * an object has its bytes in its own row.
 */
export function imageObjects(d: Dialect): readonly string[] {
  return [
    `ALTER TABLE image ADD COLUMN object ${d.byteOrderedText}`,
    `ALTER TABLE image ADD COLUMN width ${d.int64}`,
    `ALTER TABLE image ADD COLUMN height ${d.int64}`,
    `ALTER TABLE image ADD COLUMN parameters TEXT`,
    `CREATE INDEX image_stored_object ON image (object) WHERE object IS NOT NULL`,
    `CREATE TABLE image_object (
      id ${d.byteOrderedText} PRIMARY KEY,
      account_id TEXT NOT NULL,
      place TEXT NOT NULL CHECK (place IN ('files', 's3')),
      hash TEXT NOT NULL,
      is_used ${d.int64} NOT NULL CHECK (is_used IN (0, 1)),
      changed_at ${d.int64} NOT NULL
    )`,
    `CREATE INDEX image_object_content ON image_object (account_id, hash)`,
    `CREATE INDEX image_object_unused ON image_object (changed_at) WHERE is_used = 0`,
    `CREATE TABLE image_thumbnail (
      image_id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      bytes ${d.bytes} NOT NULL
    )`,
    `CREATE INDEX image_thumbnail_account ON image_thumbnail (account_id)`,
  ];
}
