import type { Dialect } from '../dialect.ts';

/** Sign-in to the console, an account's console preferences, and the indexes for its lists and charts. */
export function auth(d: Dialect): readonly string[] {
  return [...signIn(d), ...preferences(), ...order(d), ...indexes()];
}

/** Table names are ours, column names are the sign-in library's (quoted: they are mixed case), plus `confirmedAt`. */
function signIn(d: Dialect): string[] {
  return [
    `CREATE TABLE auth_user (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      email TEXT NOT NULL UNIQUE,
      "emailVerified" ${d.flag} NOT NULL,
      image TEXT,
      "createdAt" ${d.timestamp} NOT NULL,
      "updatedAt" ${d.timestamp} NOT NULL,
      "twoFactorEnabled" ${d.flag}
    )`,
    `CREATE TABLE auth_session (
      id TEXT PRIMARY KEY,
      "expiresAt" ${d.timestamp} NOT NULL,
      token TEXT NOT NULL UNIQUE,
      "createdAt" ${d.timestamp} NOT NULL,
      "updatedAt" ${d.timestamp} NOT NULL,
      "ipAddress" TEXT,
      "userAgent" TEXT,
      "userId" TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
      "confirmedAt" ${d.int64}
    )`,
    `CREATE INDEX auth_session_user ON auth_session ("userId")`,
    `CREATE INDEX auth_session_age ON auth_session ("expiresAt")`,
    `CREATE TABLE auth_account (
      id TEXT PRIMARY KEY,
      "accountId" TEXT NOT NULL,
      "providerId" TEXT NOT NULL,
      "userId" TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
      "accessToken" TEXT,
      "refreshToken" TEXT,
      "idToken" TEXT,
      "accessTokenExpiresAt" ${d.timestamp},
      "refreshTokenExpiresAt" ${d.timestamp},
      scope TEXT,
      password TEXT,
      "createdAt" ${d.timestamp} NOT NULL,
      "updatedAt" ${d.timestamp} NOT NULL
    )`,
    `CREATE UNIQUE INDEX auth_account_provider ON auth_account ("providerId", "accountId")`,
    `CREATE INDEX auth_account_user ON auth_account ("userId")`,
    `CREATE TABLE auth_verification (
      id TEXT PRIMARY KEY,
      identifier TEXT NOT NULL,
      value TEXT NOT NULL,
      "expiresAt" ${d.timestamp} NOT NULL,
      "createdAt" ${d.timestamp} NOT NULL,
      "updatedAt" ${d.timestamp} NOT NULL
    )`,
    `CREATE INDEX auth_verification_identifier ON auth_verification (identifier)`,
    `CREATE INDEX auth_verification_age ON auth_verification ("expiresAt")`,
    `CREATE TABLE auth_two_factor (
      id TEXT PRIMARY KEY,
      secret TEXT NOT NULL,
      "backupCodes" TEXT NOT NULL,
      "userId" TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
      verified ${d.flag},
      "failedVerificationCount" ${d.int64},
      "lockedUntil" ${d.timestamp}
    )`,
    `CREATE INDEX auth_two_factor_user ON auth_two_factor ("userId")`,
    `CREATE INDEX auth_two_factor_secret ON auth_two_factor (secret)`,
  ];
}

function preferences(): string[] {
  return [
    `CREATE TABLE preference (
      account_id TEXT PRIMARY KEY REFERENCES account (id),
      language TEXT,
      theme TEXT NOT NULL CHECK (theme IN ('system', 'light', 'dark'))
    )`,
  ];
}

/** A request id contains its time in Base62, which sorts correctly only by bytes: "a" after "B". */
function order(d: Dialect): string[] {
  return [
    ...d.byteOrdered('entry', 'request_id'),
    ...d.byteOrdered('answer', 'request_id'),
    ...d.byteOrdered('image', 'request_id'),
  ];
}

/**
 * Every request has to update these, so only one index contains all requests (filter by endpoint and model); the others
 * contain only the rare rows: failed requests, and entries that are not charges.
 */
function indexes(): string[] {
  return [
    `CREATE INDEX account_admin ON account (id) WHERE role = 'admin'`,
    `CREATE INDEX account_age ON account (created_at, id)`,
    `CREATE INDEX image_request ON image (request_id)`,
    `CREATE INDEX redeem_code_age ON redeem_code (created_at)`,
    `CREATE INDEX invite_age ON invite (created_at)`,
    `CREATE INDEX audit_actor ON audit (actor, id)`,
    `CREATE INDEX audit_action ON audit (action, id)`,
  ];
}
