import type { Period } from '../std/calendar.ts';

interface BudgetMail {
  readonly amount: string;
  readonly per: Period;
  readonly used: string;
  /** When the next period begins; absent: never. */
  readonly resetsAt?: number | undefined;
}

/** What each mail needs to know. Amounts are finished texts, such as `$5.00` or `25.00 EUR`; times are milliseconds. */
export interface MailData {
  'address.verify': { readonly link: string; readonly hours: number };
  'password.reset': { readonly link: string; readonly minutes: number };
  'balance.low': { readonly balance: string; readonly threshold: string };
  'limit.reached': { readonly limit: string };
  'budget.low': BudgetMail;
  'budget.reached': BudgetMail;
  'token.expiring': { readonly hint: string; readonly expiresAt: number };
  'sign-in.new-device': { readonly at: number; readonly address: string; readonly device: string };
  'payment.receipt': {
    readonly amount: string;
    readonly credited: string;
    readonly balance: string;
    readonly paidAt: number;
    /** The operator's number of the payment, for questions about it. */
    readonly reference: string;
  };
  'top-up.done': {
    readonly amount: string;
    readonly credited: string;
    readonly balance: string;
    readonly paidAt: number;
    readonly reference: string;
  };
  'top-up.failed': { readonly amount: string; readonly balance: string; readonly reason: string };
  /** A payment was disputed, or else refunded. */
  'top-up.stopped': { readonly isDisputed: boolean };
  'webhook.paused': { readonly url: string; readonly reason: string };
  'mail.test': { readonly at: number };
}

export type MailTemplate = keyof MailData;

/** The site that a mail comes from. */
export interface MailSite {
  readonly name: string;
  /** Where customers reach it, if the operator has said so. */
  readonly url: string | undefined;
}

/** Whose affairs a mail is about, as its reader sees it; without any of it, their own. */
export interface MailSubject {
  /** The team, or the team of the account. */
  readonly team?: string | undefined;
  /** An account of the team that is not the reader's own. */
  readonly account?: string | undefined;
}

export interface MailContext extends MailSite, MailSubject {}

/** The words of one mail, before they are rendered. */
interface MailText {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action?: { readonly label: string; readonly link: string } | undefined;
}

export type MailTexts = {
  readonly [T in MailTemplate]: (data: MailData[T], context: MailContext) => MailText;
};
