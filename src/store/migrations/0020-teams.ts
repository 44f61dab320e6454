import type { Dialect } from '../dialect.ts';

/**
 * A team is an account of kind `team`: a balance without a token. Its members and apps are accounts whose `wallet_id` names
 * it, for as long as they exist, so that whose money a request took never changes. What an account may spend in a period, and
 * what its token may be used for, belongs to the account.
 */
export function teams(d: Dialect): readonly string[] {
  const counted = `${d.int64} NOT NULL DEFAULT 0`;
  return [
    `ALTER TABLE account ADD COLUMN kind TEXT NOT NULL DEFAULT 'person'`,
    `ALTER TABLE account ADD COLUMN name TEXT`,
    `ALTER TABLE account ADD COLUMN wallet_id TEXT`,
    `ALTER TABLE account ADD COLUMN person_id TEXT`,
    `ALTER TABLE account ADD COLUMN team_role TEXT`,
    `ALTER TABLE account ADD COLUMN ended_at ${d.int64}`,
    `ALTER TABLE account ADD COLUMN team_held ${counted}`,
    `ALTER TABLE account ADD COLUMN budget ${d.int64}`,
    `ALTER TABLE account ADD COLUMN budget_per TEXT`,
    `ALTER TABLE account ADD COLUMN budget_from ${counted}`,
    `ALTER TABLE account ADD COLUMN budget_from_day ${counted}`,
    `ALTER TABLE account ADD COLUMN budget_used ${counted}`,
    `ALTER TABLE account ADD COLUMN budget_held ${counted}`,
    `ALTER TABLE account ADD COLUMN token_models TEXT`,
    `ALTER TABLE account ADD COLUMN token_networks TEXT`,
    `ALTER TABLE account ADD COLUMN token_expires_at ${d.int64}`,
    `CREATE INDEX account_of_team ON account (wallet_id, id) WHERE wallet_id IS NOT NULL`,
    // A person is in at most one team; names of teams, and of a team's apps, are said on the command line.
    `CREATE UNIQUE INDEX account_member ON account (person_id) WHERE person_id IS NOT NULL AND ended_at IS NULL`,
    `CREATE UNIQUE INDEX account_team_name ON account (name) WHERE kind = 'team' AND ended_at IS NULL`,
    `CREATE UNIQUE INDEX account_app_name ON account (wallet_id, name) WHERE kind = 'app' AND ended_at IS NULL`,
    `CREATE TABLE team_invite (
      secret_hash TEXT PRIMARY KEY,
      team_id TEXT NOT NULL,
      email TEXT,
      role TEXT NOT NULL,
      budget ${d.int64},
      budget_per TEXT,
      created_by TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL,
      used_at ${d.int64}
    )`,
    `CREATE INDEX team_invite_team ON team_invite (team_id, created_at)`,
    `CREATE TABLE wallet_move (
      id TEXT PRIMARY KEY,
      from_id TEXT NOT NULL,
      to_id TEXT NOT NULL,
      amount ${d.int64} NOT NULL CHECK (amount > 0),
      created_at ${d.int64} NOT NULL
    )`,
    `CREATE INDEX wallet_move_from ON wallet_move (from_id, created_at)`,
    `CREATE INDEX wallet_move_to ON wallet_move (to_id, created_at)`,
  ];
}
