import { priceLabels } from '../std/dimension-texts.ts';
import type { AnnouncedModel, AnnouncedPrice, AnnouncedTier } from './events.ts';
import type { Period } from '../std/calendar.ts';

interface BudgetMail {
  readonly amount: string;
  readonly per: Period;
  readonly used: string;
  /** When the next period begins; absent: never. */
  readonly resetsAt?: number | undefined;
}

interface PricesMail {
  readonly from: number;
  readonly isCancelled: boolean;
  readonly models: readonly AnnouncedModel[];
  /** How many models there are beside those. */
  readonly more: number;
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
  'price.changes': PricesMail;
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

/** A line for each model. */
export function changeLines(
  models: readonly AnnouncedModel[],
  words: {
    readonly language: 'en' | 'de';
    above(label: string, tokens: number): string;
    tier(tier: string): string;
    isNew(line: string): string;
    isGone(name: string): string;
  },
): string[] {
  const labels: Readonly<Record<string, string>> = priceLabels(words.language);
  const priceText = ({ dimension, quality, above_input_tokens: above, ...price }: AnnouncedPrice): string => {
    const label = [labels[dimension] ?? dimension, quality].filter((part) => part !== null).join(' ');
    const amounts = [price.before_usd, price.after_usd].map((usd) => (usd === null ? '–' : `$${usd}`));
    const shown = price.before_usd === null ? amounts.slice(1) : amounts;
    return `${above === null ? label : words.above(label, above)} ${shown.join(' → ')}`;
  };
  const tierText = ({ tier, before, after }: AnnouncedTier): string => {
    const factors = [before, after].map((factor) => (factor === null ? '–' : `× ${factor}`));
    return `${words.tier(tier)} ${(before === null ? factors.slice(1) : factors).join(' → ')}`;
  };
  return models.map(({ model, name, change, prices, service_tiers: tiers = [] }) => {
    const whole = `${name} (${model})`;
    if (change === 'gone') return words.isGone(whole);
    const changes = [...prices.map(priceText), ...tiers.map(tierText)];
    const line = changes.length === 0 ? whole : `${whole}: ${changes.join(', ')}`;
    return change === 'new' ? words.isNew(line) : line;
  });
}
