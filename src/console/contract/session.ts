import type { Millis, Role, SignUpMode, Theme, Usd } from './shared.ts';

/** The first call of every page; needs no session and never answers 401. */
export interface SessionState {
  /** No admin exists yet: only the setup page makes sense. */
  setupNeeded: boolean;
  signUp: SignUpMode;
  /** Whether this server sends mail: then a forgotten password can be reset without the operator. */
  sendsMail: boolean;
  socialProviders: SocialProvider[];
  site: {
    name: string;
    version: string;
    /** Where customers reach this server; `null`: where the page came from. */
    publicUrl: string | null;
    /** How to top up an account; plain text, may be empty. */
    topUpHint: string;
    /** How to reach the operator: an e-mail address, an https address or plain text; may be empty. */
    contact: string;
    currency: DisplayCurrency;
    /** Whether there are /models, /status, /llms.txt and what belongs to them. */
    publicPages: boolean;
  };
  user: SignedInUser | null;
}

export type SocialProvider = 'github' | 'google';

/** Amounts are kept in dollars; a page may show them in another currency at the operator's rate. */
export interface DisplayCurrency {
  /** ISO 4217, `USD` unless set otherwise. */
  code: string;
  /** How many of them one dollar is, as decimal text. */
  perUsd: string;
}

export interface SignedInUser {
  accountId: string;
  email: string;
  name: string;
  role: Role;
  twoFactor: boolean;
  /** Whether a link that was sent to the address was used. */
  emailVerified: boolean;
  /** False for a user who has only signed in through a social provider. */
  hasPassword: boolean;
  /** Until when sensitive actions need no password; in the past: POST /api/console/confirm first. */
  confirmedUntil: Millis;
  language: string | null;
  theme: Theme;
}

/** GET /api/console/setup?token=… tells whether the link is still good (404 once an admin exists). */
export interface SetupState {
  valid: boolean;
  expiresAt: Millis | null;
}

export interface PasswordResetState {
  valid: boolean;
  /** Whose password it is, for the form; null when the link is not valid. */
  email: string | null;
  expiresAt: Millis | null;
}

/** One place where this account is signed in. */
export interface SessionItem {
  id: string;
  current: boolean;
  createdAt: Millis;
  updatedAt: Millis;
  expiresAt: Millis;
  address: string | null;
  userAgent: string | null;
}

/** A way to sign in without a password, kept by a device or a password manager. */
export interface PasskeyItem {
  id: string;
  name: string;
  /** Where it is stored, if known: a password manager, Windows Hello. */
  keeper: string | null;
  createdAt: Millis;
  usedAt: Millis | null;
}

export interface Settings {
  name: string;
  language: string | null;
  theme: Theme;
  /** Warn below this balance; null: no warning. */
  lowBalanceUsd: Usd | null;
}
