/** What each mail needs to know. Amounts are finished texts, such as `$5.00` or `25.00 EUR`; times are milliseconds. */
export interface MailData {
  'address.verify': { readonly link: string; readonly hours: number };
  'password.reset': { readonly link: string; readonly minutes: number };
  'balance.low': { readonly balance: string; readonly threshold: string };
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

/** The words of one mail, before they are rendered. */
interface MailText {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action?: { readonly label: string; readonly link: string } | undefined;
}

export type MailTexts = {
  readonly [T in MailTemplate]: (data: MailData[T], site: MailSite) => MailText;
};
