import type { Dialect } from '../dialect.ts';

/** Sign-in to the console and what belongs to a person: invitations, links for a new password, preferences. */
export function signInTables(d: Dialect): readonly string[] {
  return [...users(d), ...waysToSignIn(d), ...people(d)];
}

/** Table names are ours, column names are the sign-in library's (quoted: they are mixed case), plus `confirmedAt`. */
function users(d: Dialect): string[] {
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
  ];
}

/** Passwords, second factors and passkeys (public keys only). `usedAt` is ours. */
function waysToSignIn(d: Dialect): string[] {
  return [
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
    `CREATE TABLE auth_passkey (
      id TEXT PRIMARY KEY,
      name TEXT,
      "publicKey" TEXT NOT NULL,
      "userId" TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
      "credentialID" TEXT NOT NULL UNIQUE,
      counter ${d.int64} NOT NULL,
      "deviceType" TEXT NOT NULL,
      "backedUp" ${d.flag} NOT NULL,
      transports TEXT,
      "createdAt" ${d.timestamp},
      aaguid TEXT,
      "usedAt" ${d.int64}
    )`,
    `CREATE INDEX auth_passkey_user ON auth_passkey ("userId")`,
  ];
}

function people(d: Dialect): string[] {
  return [
    `CREATE TABLE preference (
      account_id TEXT PRIMARY KEY REFERENCES account (id),
      language TEXT,
      theme TEXT NOT NULL CHECK (theme IN ('system', 'light', 'dark'))
    )`,
    // At most one link per account, so that a newer one replaces the older.
    `CREATE TABLE reset_link (
      account_id TEXT PRIMARY KEY REFERENCES account (id),
      token_hash TEXT NOT NULL UNIQUE,
      created_by TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64} NOT NULL
    )`,
    `CREATE TABLE invite (
      code_hash TEXT PRIMARY KEY,
      hint TEXT NOT NULL,
      created_by TEXT NOT NULL,
      created_at ${d.int64} NOT NULL,
      expires_at ${d.int64},
      used_by TEXT,
      used_at ${d.int64}
    )`,
    `CREATE INDEX invite_age ON invite (created_at)`,
  ];
}
