import type { Dialect } from '../dialect.ts';

/**
 * What the Responses API keeps of an account: each response with its own input and output, and the response that it follows;
 * conversations with their items. What they say is sealed. `response_storage` has what all of it takes, so that no row has to
 * be added up, and whether the account's owner has switched it off. Ids begin with their time, so that the oldest are found
 * by them; the index of an account has what is needed to choose which of its responses leave.
 *
 * A database that has accounts already was made by an earlier version: there, nothing is kept until the operator says so.
 */
export function storedResponses(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE response_storage (
      account_id TEXT PRIMARY KEY,
      bytes ${d.int64} NOT NULL,
      off_at ${d.int64}
    )`,
    `CREATE TABLE stored_response (
      id ${d.byteOrderedText} PRIMARY KEY,
      account_id TEXT NOT NULL,
      previous_id TEXT,
      conversation_id TEXT,
      state TEXT NOT NULL CHECK (state IN ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
      item_bytes ${d.int64} NOT NULL,
      bytes ${d.int64} NOT NULL,
      created_at ${d.int64} NOT NULL,
      request_id TEXT,
      items ${d.bytes} NOT NULL,
      head ${d.bytes} NOT NULL
    )`,
    `CREATE INDEX stored_response_account ON stored_response (account_id, id, created_at, bytes)`,
    `CREATE INDEX stored_response_running ON stored_response (request_id) WHERE request_id IS NOT NULL`,
    `CREATE TABLE conversation (
      id ${d.byteOrderedText} PRIMARY KEY,
      account_id TEXT NOT NULL,
      head ${d.bytes} NOT NULL,
      bytes ${d.int64} NOT NULL,
      item_bytes ${d.int64} NOT NULL,
      last_place ${d.int64} NOT NULL,
      running TEXT,
      running_since ${d.int64},
      created_at ${d.int64} NOT NULL
    )`,
    `CREATE INDEX conversation_account ON conversation (account_id, id)`,
    `CREATE TABLE conversation_item (
      conversation_id TEXT NOT NULL,
      place ${d.int64} NOT NULL,
      id TEXT NOT NULL,
      account_id TEXT NOT NULL,
      item ${d.bytes} NOT NULL,
      PRIMARY KEY (conversation_id, place)
    )`,
    `CREATE UNIQUE INDEX conversation_item_id ON conversation_item (conversation_id, id)`,
    `CREATE INDEX conversation_item_account ON conversation_item (account_id, id)`,
    `INSERT INTO setting (key, value, updated_at)
      SELECT 'responses.made_before', 'true', 0 WHERE EXISTS (SELECT 1 FROM account WHERE role <> 'system')`,
  ];
}
