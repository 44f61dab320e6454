import type { ColumnType } from 'kysely';

/** The sign-in library's tables, with its column names, and an account's console preferences. */
export interface AuthSchema {
  auth_user: AuthUserTable;
  auth_session: AuthSessionTable;
  auth_account: AuthAccountTable;
  auth_verification: AuthVerificationTable;
  auth_two_factor: AuthTwoFactorTable;
  auth_passkey: AuthPasskeyTable;
  reset_link: ResetLinkTable;
  sign_in_attempt: SignInAttemptTable;
  preference: PreferenceTable;
}

/** Text of ISO 8601 in SQLite, a date from Postgres; both databases take the text. */
type Moment = ColumnType<string | Date, string, string>;
/** 0 or 1 in SQLite, a boolean from Postgres; both databases take a boolean. */
type Flag = ColumnType<number | boolean, boolean, boolean>;
type Nullable<T> = ColumnType<T | null, T | null | undefined, T | null>;

export interface AuthUserTable {
  /** The same id as the account's. */
  id: string;
  name: string;
  email: string;
  emailVerified: Flag;
  image: Nullable<string>;
  createdAt: Moment;
  updatedAt: Moment;
  twoFactorEnabled: ColumnType<number | boolean | null, boolean | null | undefined, boolean | null>;
}

export interface AuthSessionTable {
  id: string;
  expiresAt: Moment;
  token: string;
  createdAt: Moment;
  updatedAt: Moment;
  ipAddress: Nullable<string>;
  userAgent: Nullable<string>;
  userId: string;
  /** When the password was last entered again in this session, milliseconds. */
  confirmedAt: Nullable<number>;
}

export interface AuthAccountTable {
  id: string;
  accountId: string;
  providerId: string;
  userId: string;
  accessToken: Nullable<string>;
  refreshToken: Nullable<string>;
  idToken: Nullable<string>;
  scope: Nullable<string>;
  /** PHC string of argon2id; only with the provider `credential`. */
  password: Nullable<string>;
  createdAt: Moment;
  updatedAt: Moment;
}

export interface AuthVerificationTable {
  id: string;
  identifier: string;
  value: string;
  expiresAt: Moment;
  createdAt: Moment;
  updatedAt: Moment;
}

export interface AuthTwoFactorTable {
  id: string;
  secret: string;
  backupCodes: string;
  userId: string;
}

export interface AuthPasskeyTable {
  id: string;
  name: Nullable<string>;
  publicKey: string;
  userId: string;
  credentialID: string;
  counter: number;
  deviceType: string;
  backedUp: Flag;
  transports: Nullable<string>;
  createdAt: ColumnType<string | Date | null, string | null | undefined, string | null>;
  /** The authenticator's model, if it tells. */
  aaguid: Nullable<string>;
  /** When it was last used to sign in, milliseconds. */
  usedAt: Nullable<number>;
}

export interface ResetLinkTable {
  account_id: string;
  token_hash: string;
  created_by: string;
  created_at: number;
  expires_at: number;
}

export interface SignInAttemptTable {
  /** A keyed hash of what is counted. */
  key: string;
  count: number;
  at: number;
  expires_at: number;
}

export interface PreferenceTable {
  account_id: string;
  language: Nullable<string>;
  theme: 'system' | 'light' | 'dark';
}
