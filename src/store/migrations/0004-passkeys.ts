import type { Dialect } from '../dialect.ts';

/** Passkeys, public keys only. Columns are the sign-in library's, plus `usedAt`. */
export function passkeys(d: Dialect): readonly string[] {
  return [
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
