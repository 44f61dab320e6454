import type { MailSite, MailTexts } from './mail-data.ts';

export const MAIL_TEXTS_EN: MailTexts = {
  'address.verify': ({ link, hours }, { name }) => ({
    subject: `Confirm your address for ${name}`,
    paragraphs: [
      `Somebody has registered this address at ${name}. If it was you, confirm it with this link within ${hours} hours.`,
      'If it was not you, there is nothing to do.',
    ],
    action: { label: 'Confirm the address', link },
  }),
  'password.reset': ({ link, minutes }, { name }) => ({
    subject: `A new password for ${name}`,
    paragraphs: [
      `Somebody has asked for a new password for your account at ${name}. This link sets one. It works once, within ${minutes} minutes.`,
      'If it was not you, ignore this mail: your password stays as it is.',
    ],
    action: { label: 'Set a new password', link },
  }),
  'balance.low': ({ balance, threshold }, site) => ({
    subject: `Your balance at ${site.name} is low`,
    paragraphs: [
      `Your balance is ${balance}, below the ${threshold} at which you wanted to be told.`,
      'When it is used up, requests are refused until you top up.',
    ],
    action: linkTo(site, '/app/billing', 'Open your billing page'),
  }),
  'sign-in.new-device': ({ at, address, device }, site) => ({
    subject: `A new sign-in at ${site.name}`,
    paragraphs: [
      `Somebody has signed in to your account from a browser that it was not used in before: ${timeText(at)}, from ${address}, with ${device}.`,
      'If it was you, there is nothing to do. If not, change your password and end the other sessions in your settings.',
    ],
    action: linkTo(site, '/app/settings', 'Open your settings'),
  }),
  'payment.receipt': ({ amount, credited, balance, paidAt, reference }, site) => ({
    subject: `Your payment to ${site.name}`,
    paragraphs: [
      `Thank you. We received ${amount} on ${timeText(paidAt)}.`,
      `${credited} were added to your balance, which is now ${balance}.`,
      `Reference: ${reference}`,
    ],
    action: linkTo(site, '/app/billing', 'Open your billing page'),
  }),
  'top-up.done': ({ amount, credited, balance, paidAt, reference }, site) => ({
    subject: `Automatic top-up at ${site.name}`,
    paragraphs: [
      `Your balance fell below your threshold, so we charged your saved card with ${amount} on ${timeText(paidAt)}.`,
      `${credited} were added to your balance, which is now ${balance}.`,
      `Reference: ${reference}`,
    ],
    action: linkTo(site, '/app/billing', 'Open your billing page'),
  }),
  'top-up.failed': ({ amount, balance, reason }, site) => ({
    subject: `Automatic top-up at ${site.name} failed`,
    paragraphs: [
      `Your balance is ${balance}. We tried to charge your saved card with ${amount}, which failed: ${refusalOf(reason)}.`,
      'Requests are refused when the balance is used up. Please check your card, or top up by hand.',
    ],
    action: linkTo(site, '/app/billing', 'Open your billing page'),
  }),
  'top-up.stopped': ({ isDisputed }, site) => ({
    subject: `Automatic top-up at ${site.name} is off`,
    paragraphs: isDisputed
      ? [
          'A payment by card was disputed, so we turned automatic top-up off. Card payments are off until we allow them again: please write to us.',
          'After that, automatic top-up stays off until you turn it on again.',
        ]
      : [
          'A payment by card was refunded, so we turned automatic top-up off.',
          'It stays off until you turn it on again.',
        ],
    action: linkTo(site, '/app/billing', 'Open your billing page'),
  }),
  'webhook.paused': ({ url, reason }, site) => ({
    subject: `A webhook at ${site.name} is paused`,
    paragraphs: [
      `Your webhook ${url} has failed for days and gets no events any more. The last failure: ${reason}.`,
      'When it works again, resume it in the console.',
    ],
    action: linkTo(site, '/app/webhooks', 'Open your webhooks'),
  }),
  'mail.test': ({ at }, { name }) => ({
    subject: `A test of ${name}`,
    paragraphs: [`This mail was sent from the console at ${timeText(at)}. Mail works.`],
  }),
};

/** The payment provider's words for what went wrong with a card. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['authentication_required', 'the bank wants you to confirm it, so please pay by hand once'],
  ['card_declined', 'the bank declined the card'],
  ['expired_card', 'the card has expired'],
  ['insufficient_funds', 'there is not enough money on the card'],
  ['no_answer', 'the payment service did not answer'],
  ['no_card', 'there is no saved card'],
  ['provider_unavailable', 'the payment service did not answer'],
]);

function refusalOf(word: string): string {
  return REFUSALS.get(word) ?? `the bank or the payment service refused it (${word})`;
}

function linkTo({ url }: MailSite, path: string, label: string) {
  return url === undefined ? undefined : { label, link: `${url}${path}` };
}

function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
