import type { Dialect } from '../dialect.ts';

/**
 * Who operates beside the owners. An owner is an account whose `role` is `admin`, as every version knows it; whoever has
 * a smaller role is a user to an earlier version, which so gives nobody more than they have here. `operator_grant` has
 * what a person or token with a limit a day has given, by the key under which it was booked.
 */
export function operators(d: Dialect): readonly string[] {
  const role = `role TEXT NOT NULL CHECK (role IN ('owner', 'full', 'support', 'finance', 'read'))`;
  return [
    `CREATE TABLE operator (
      account_id TEXT PRIMARY KEY,
      ${role},
      given_by TEXT NOT NULL,
      given_at ${d.int64} NOT NULL
    )`,
    `CREATE TABLE operator_token (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      ${role},
      token_hash TEXT NOT NULL UNIQUE,
      token_hint TEXT NOT NULL,
      networks TEXT,
      created_by TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL,
      used_at ${d.int64},
      ended_at ${d.int64}
    )`,
    `CREATE TABLE operator_grant (
      once TEXT PRIMARY KEY,
      operator_id TEXT NOT NULL,
      day ${d.int64} NOT NULL,
      amount ${d.int64} NOT NULL CHECK (amount > 0)
    )`,
    `CREATE INDEX operator_grant_day ON operator_grant (operator_id, day)`,
  ];
}

/** The price group of a wallet, by its name in the catalog. Nobody is in one before every node knows them. */
export function priceGroups(): readonly string[] {
  return ['ALTER TABLE account ADD COLUMN price_group TEXT'];
}

/** Which webhooks are chat tools. To an earlier version they are addresses that refuse what it sends; newer nodes send it again. */
export function chatWebhooks(): readonly string[] {
  return ['ALTER TABLE webhook ADD COLUMN format TEXT', 'ALTER TABLE webhook ADD COLUMN language TEXT'];
}

/** Catalogs that take effect at a moment. Nobody makes one before every node knows them. */
export function catalogPlans(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE catalog_plan (
      id ${d.autoId},
      from_at ${d.int64} NOT NULL,
      made_at ${d.int64} NOT NULL,
      actor TEXT NOT NULL,
      note TEXT NOT NULL,
      text TEXT NOT NULL,
      base TEXT NOT NULL,
      tag ${d.int64} NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('waiting', 'published', 'cancelled')),
      ended_at ${d.int64},
      ended_by TEXT,
      version ${d.int64}
    )`,
    `CREATE UNIQUE INDEX catalog_plan_waiting ON catalog_plan (state) WHERE state = 'waiting'`,
  ];
}

/**
 * The tags of requests, beside receipts that never change: which names a wallet's owner asked for, and what the requests of
 * its accounts said under them. The row of a wallet stays, without names, when nothing is asked for any more.
 */
export function requestTags(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE tag_choice (
      wallet_id TEXT PRIMARY KEY,
      names TEXT NOT NULL,
      changed_at ${d.int64} NOT NULL
    )`,
    `CREATE INDEX tag_choice_changed ON tag_choice (changed_at)`,
    `CREATE TABLE request_tag (
      wallet_id TEXT NOT NULL,
      request_id ${d.byteOrderedText} NOT NULL,
      name TEXT NOT NULL,
      value ${d.byteOrderedText} NOT NULL,
      PRIMARY KEY (wallet_id, request_id, name)
    )${d.clusteredByKey}`,
  ];
}

/**
 * The oldest responses of an account are looked for when it has too many or ends, and each response that is stored had to
 * pay for it. An earlier version finds them by either index.
 */
export function responsesByTime(d: Dialect): readonly string[] {
  return d.storedByTime;
}
