import type { Dialect } from '../dialect.ts';

/** What the operator keeps: settings, the audit, the catalog's versions, sealed provider keys, stored images. */
export function operationTables(d: Dialect): readonly string[] {
  return [...settings(d), ...content(d)];
}

function settings(d: Dialect): string[] {
  return [
    `CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL, updated_at ${d.int64} NOT NULL)`,
    `CREATE TABLE audit (
      id ${d.autoId},
      at ${d.int64} NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      target TEXT NOT NULL,
      detail TEXT NOT NULL
    )`,
    ...d.appendOnly('audit'),
    `CREATE INDEX audit_actor ON audit (actor, id)`,
    `CREATE INDEX audit_action ON audit (action, id)`,
  ];
}

function content(d: Dialect): string[] {
  return [
    `CREATE TABLE catalog_version (
      id ${d.autoId},
      created_at ${d.int64} NOT NULL,
      actor TEXT NOT NULL,
      note TEXT NOT NULL,
      yaml TEXT NOT NULL
    )`,
    `CREATE TABLE provider_key (name TEXT PRIMARY KEY, sealed TEXT NOT NULL, hint TEXT NOT NULL, updated_at ${d.int64} NOT NULL)`,
    `CREATE TABLE image (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      request_id ${d.byteOrderedText} NOT NULL,
      mime TEXT NOT NULL,
      size ${d.int64} NOT NULL,
      prompt TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL,
      bytes ${d.bytes} NOT NULL
    )`,
    `CREATE INDEX image_account ON image (account_id, created_at)`,
    `CREATE INDEX image_age ON image (expires_at)`,
    `CREATE INDEX image_request ON image (request_id)`,
  ];
}
