import { createHmac } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { Notices } from '../../outbox/notices.ts';
import type { Clock } from '../../std/clock.ts';
import { sameSecret } from '../../std/same-secret.ts';
import type { Schema } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { normalEmail } from './users.ts';
import { resetPath, type ResetLinks } from './reset.ts';
import { giveWelcomeCredit } from './welcome-credit.ts';

/** The mails of signing in: links that prove an address, and news of a sign-in elsewhere. Without mail they do nothing. */
export interface AccountMails {
  readonly areSent: boolean;
  /** A link for a new password, if the address belongs to an account. */
  sendReset(email: string, language: string | undefined): Promise<void>;
  /** A link that confirms the address of an account. */
  sendVerification(tx: Kysely<Schema>, account: MailedAccount, language?: string): Promise<void>;
  /** Whether the token is from such a link and not too old; the address then counts as confirmed. */
  verify(token: string): Promise<boolean>;
  /** Confirms the account's address within a transaction that has proved that a mail to it was read. */
  markVerified(tx: Transaction<Schema>, accountId: string): Promise<void>;
  /** Somebody signed in from a browser that was not used with the account before. */
  tellNewDevice(signIn: NewDeviceSignIn): Promise<void>;
}

interface MailedAccount {
  readonly accountId: string;
  readonly email: string;
}

interface NewDeviceSignIn {
  readonly accountId: string;
  readonly sessionId: string;
  readonly address: string;
  readonly userAgent: string | undefined;
}

interface AccountMailsParts {
  readonly store: Store;
  readonly secret: string;
  readonly mailboxKey: Uint8Array;
  readonly clock: Clock;
  readonly resetLinks: ResetLinks;
  readonly notices: Notices | undefined;
  /** Where links lead; without it no mail is sent. */
  readonly publicUrl: string | undefined;
}

/** Marks a reset link that was sent to the address itself. */
export const MADE_BY_MAIL = 'mail';
const MINUTE = 60_000;
const RESET_MINUTES = 30;
const VERIFY_HOURS = 48;

export function makeAccountMails(parts: AccountMailsParts): AccountMails {
  const { store, clock, resetLinks, publicUrl } = parts;
  const notices = publicUrl !== undefined && parts.notices?.sendsMail === true ? parts.notices : undefined;
  return {
    areSent: notices !== undefined,
    async sendReset(email, language) {
      const account = notices && (await activeAccount(store, normalEmail(email)));
      if (!account) return;
      const lifeMs = RESET_MINUTES * MINUTE;
      const link = { accountId: account.id, createdBy: MADE_BY_MAIL, lifeMs };
      await resetLinks.make(link, async (tx, { token }) => {
        const data = { link: `${publicUrl}${resetPath(token)}`, minutes: RESET_MINUTES };
        const mail = { accountId: account.id, template: 'password.reset', data, lifeMs, language } as const;
        await notices.mail(tx, mail);
      });
    },
    async sendVerification(tx, account, language) {
      const token = verificationToken(parts, account, clock.now() + VERIFY_HOURS * 60 * MINUTE);
      const data = { link: `${publicUrl}/verify-email#${token}`, hours: VERIFY_HOURS };
      await notices?.mail(tx, { accountId: account.accountId, template: 'address.verify', data, language });
    },
    verify: (token) => confirmAddress(parts, token),
    markVerified: (tx, accountId) => markVerified(parts, tx, accountId),
    async tellNewDevice({ accountId, sessionId, address, userAgent }) {
      const data = { at: clock.now(), address, device: browserName(userAgent ?? '') };
      const once = `device:${sessionId}`;
      await notices?.mail(store.db, { accountId, template: 'sign-in.new-device', data, once });
    },
  };
}

async function activeAccount({ db }: Store, email: string) {
  return await db
    .selectFrom('account')
    .select('id')
    .where('email', '=', email)
    .where('role', '!=', 'system')
    .where('status', '=', 'active')
    .executeTakeFirst();
}

/** Nothing is stored: the signature covers the account, the address and the end. Using it twice changes nothing. */
function verificationToken(
  { secret }: AccountMailsParts,
  { accountId, email }: MailedAccount,
  expiresAt: number,
): string {
  const signature = createHmac('sha256', secret)
    .update(JSON.stringify(['verify address', accountId, email, expiresAt]))
    .digest('base64url');
  return `${accountId}.${expiresAt}.${signature}`;
}

async function confirmAddress(parts: AccountMailsParts, token: string): Promise<boolean> {
  const { store, clock } = parts;
  const [, accountId, expiresAt] = /^(acc_\w{1,40})\.(\d{1,15})\.[\w-]{43}$/.exec(token) ?? [];
  if (accountId === undefined || Number(expiresAt) <= clock.now()) return false;
  const account = await store.db
    .selectFrom('account')
    .select('email')
    .where('id', '=', accountId)
    .executeTakeFirst();
  if (!account) return false;
  const right = verificationToken(parts, { accountId, email: account.email }, Number(expiresAt));
  if (!sameSecret(token, right)) return false;
  await store.db.transaction().execute((tx) => markVerified(parts, tx, accountId));
  await store.durable();
  return true;
}

async function markVerified(
  { mailboxKey, clock }: AccountMailsParts,
  tx: Transaction<Schema>,
  accountId: string,
): Promise<void> {
  await tx.updateTable('auth_user').set({ emailVerified: true }).where('id', '=', accountId).execute();
  await giveWelcomeCredit(tx, accountId, { mailboxKey, now: clock.now() });
}

const BROWSERS = [
  [/\bEdg/, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\bChrom(e|ium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const;
const SYSTEMS = [
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
] as const;

/** Known names only: the client chooses the text. */
function browserName(userAgent: string): string {
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))?.[1] ?? '?';
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1];
  return system === undefined ? browser : `${browser} (${system})`;
}
