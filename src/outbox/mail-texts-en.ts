import type { Period } from '../std/calendar.ts';
import { changeLines, type MailContext, type MailSite, type MailTexts } from './mail-data.ts';

export const MAIL_TEXTS_EN: MailTexts = {
  'address.verify': ({ link, hours }, { name }) => ({
    subject: `Confirm your address for ${name}`,
    paragraphs: [
      `Someone created an account at ${name} with this address. If it was you, confirm the address within ${hours} hours.`,
      'If it was not you, ignore this email.',
    ],
    action: { label: 'Confirm the address', link },
  }),
  'password.reset': ({ link, minutes }, { name }) => ({
    subject: `Reset your password for ${name}`,
    paragraphs: [
      `Someone asked to reset the password of your account at ${name}. The link below works once, for ${minutes} minutes.`,
      'If it was not you, ignore this email. Your password does not change.',
    ],
    action: { label: 'Set a new password', link },
  }),
  'balance.low': ({ balance, threshold }, site) => ({
    subject: `${balanceOf(site)} at ${site.name} is low`,
    paragraphs: [
      `${balanceOf(site)} is ${balance}, below your warning level of ${threshold}.`,
      'At $0.00, requests are rejected. Add funds to continue.',
    ],
    action: linkToBilling(site),
  }),
  'limit.reached': ({ limit }, site) => ({
    subject:
      site.team === undefined
        ? `Your monthly limit at ${site.name} is reached`
        : `The monthly limit of ${site.team} at ${site.name} is reached`,
    paragraphs: [
      `The limit is ${limit} per month. Requests are rejected until the next month begins (UTC) or the limit is raised.`,
    ],
    action: linkToBilling(site),
  }),
  'budget.low': ({ amount, per, used, resetsAt }, site) => ({
    subject: `${inTeam('budget', site)} at ${site.name} is 80 % used`,
    paragraphs: [
      `${used} of ${amount} ${PERIODS[per]} is used. Beyond the budget, requests are rejected${untilText(resetsAt)}.`,
    ],
    action: linkToBudget(site),
  }),
  'budget.reached': ({ amount, per, used, resetsAt }, site) => ({
    subject: `${inTeam('budget', site)} at ${site.name} is used up`,
    paragraphs: [
      `${used} of ${amount} ${PERIODS[per]} is used. The rest is too little for another request. Requests are rejected${untilText(resetsAt)}.`,
    ],
    action: linkToBudget(site),
  }),
  'token.expiring': ({ hint, expiresAt }, site) => ({
    subject: `${inTeam('token', site)} at ${site.name} expires soon`,
    paragraphs: [
      `The token ${hint} works until ${timeText(expiresAt)}. After that, its requests are rejected.`,
      site.account !== undefined
        ? 'To keep using the token, set a later last day on the team’s page.'
        : site.team === undefined
          ? 'To keep using the token, contact us.'
          : 'To keep using the token, ask an owner or admin of the team for a later last day.',
    ],
    action: linkTo(site, site.account === undefined ? '/app/key' : '/app/team', 'Open the console'),
  }),
  'price.changes': ({ from, isCancelled, models, more }, site) => ({
    subject: isCancelled
      ? `The price change${forTeam(site)} at ${site.name} is cancelled`
      : `Prices${forTeam(site)} at ${site.name} change on ${timeText(from).slice(0, 10)}`,
    paragraphs: isCancelled
      ? [`The change announced for ${timeText(from)} is cancelled. Prices stay the same.`]
      : [
          `These prices change on ${timeText(from)}. Until then, you pay today’s prices. Token prices are per million tokens.`,
          ...changeLines(models, {
            language: 'en',
            above: (label, tokens) => `${label} above ${tokens} input tokens`,
            tier: (tier) => `service tier ${tier}`,
            isNew: (line) => `New: ${line}`,
            isGone: (name) => `${name} is no longer offered.`,
          }),
          ...(more > 0 ? [`And ${more} more: see the models page.`] : []),
        ],
    action: linkTo(site, '/app/models', 'See all prices'),
  }),
  'sign-in.new-device': ({ at, address, device }, site) => ({
    subject: `A new sign-in at ${site.name}`,
    paragraphs: [
      `Someone signed in to your account from a new browser: ${timeText(at)}, from ${address}, with ${device}.`,
      'If it was you, ignore this email. If not, change your password and sign out other sessions in your settings.',
    ],
    action: linkTo(site, '/app/settings', 'Open your settings'),
  }),
  'payment.receipt': ({ amount, credited, balance, paidAt, reference }, site) => ({
    subject:
      site.team === undefined ? `Your payment to ${site.name}` : `A payment for ${site.team} to ${site.name}`,
    paragraphs: [
      `Thank you. We received ${amount} on ${timeText(paidAt)}.`,
      `${credited} was added to ${site.team === undefined ? 'your balance' : `the balance of ${site.team}`}. New balance: ${balance}.`,
      `Reference: ${reference}`,
    ],
    action: linkToBilling(site),
  }),
  'top-up.done': ({ amount, credited, balance, paidAt, reference }, site) => ({
    subject: `Automatic top-up${ofTeam(site)} at ${site.name}`,
    paragraphs: [
      `${balanceOf(site)} fell below its threshold, so we charged the saved card with ${amount} on ${timeText(paidAt)}.`,
      `${credited} was added to ${site.team === undefined ? 'your balance' : `the balance of ${site.team}`}. New balance: ${balance}.`,
      `Reference: ${reference}`,
    ],
    action: linkToBilling(site),
  }),
  'top-up.failed': ({ amount, balance, reason }, site) => ({
    subject: `Automatic top-up${ofTeam(site)} at ${site.name} failed`,
    paragraphs: [
      `${balanceOf(site)} is ${balance}. Charging the saved card with ${amount} failed: ${refusalOf(reason)}.`,
      'At $0.00, requests are rejected. Check the card, or add funds yourself.',
    ],
    action: linkToBilling(site),
  }),
  'top-up.stopped': ({ isDisputed }, site) => ({
    subject: `Automatic top-up${ofTeam(site)} at ${site.name} is off`,
    paragraphs: isDisputed
      ? [
          'A payment by card was disputed, so we turned automatic top-up off. Card payments stay off until we allow them again. Please contact us.',
          'After that, automatic top-up stays off until you turn it on again.',
        ]
      : [
          'A payment by card was refunded, so we turned automatic top-up off.',
          'It stays off until you turn it on again.',
        ],
    action: linkToBilling(site),
  }),
  'webhook.paused': ({ url, reason }, site) => ({
    subject: `A webhook${ofTeam(site)} at ${site.name} is paused`,
    paragraphs: [
      `The webhook ${url} failed for days and no longer receives events. Last failure: ${reason}.`,
      'Resume the webhook in the console when your address works again.',
    ],
    action: linkTo(site, '/app/webhooks', 'Open your webhooks'),
  }),
  'mail.test': ({ at }, { name }) => ({
    subject: `Test email from ${name}`,
    paragraphs: [`This email was sent from the console at ${timeText(at)}. Email works.`],
  }),
};

/** The payment provider's words for what went wrong with a card. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['authentication_required', 'the bank requires your confirmation, so make one payment yourself'],
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

function balanceOf({ team }: MailContext): string {
  return team === undefined ? 'Your balance' : `The balance of ${team}`;
}

function ofTeam({ team }: MailContext): string {
  return team === undefined ? '' : ` of ${team}`;
}

/** Names whose thing it is: the reader's own, the reader's in a team, or that of an account of the team. */
function inTeam(thing: string, { team, account }: MailContext): string {
  const whose = account === undefined ? `Your ${thing}` : `The ${thing} of ${account}`;
  return team === undefined ? whose : `${whose} in ${team}`;
}

const PERIODS: Record<Period, string> = {
  day: 'for today',
  week: 'for this week',
  month: 'for this month',
  total: 'in total',
};

function untilText(resetsAt: number | undefined): string {
  return resetsAt === undefined ? '' : ` until ${timeText(resetsAt)}`;
}

function forTeam({ team }: MailContext): string {
  return team === undefined ? '' : ` for ${team}`;
}

function linkToBilling(context: MailContext) {
  return context.team === undefined
    ? linkTo(context, '/app/billing', 'Open your billing page')
    : linkTo(context, '/app/team', 'Open the team’s page');
}

function linkToBudget(context: MailContext) {
  return context.team === undefined
    ? linkTo(context, '/app/usage', 'Open your usage')
    : linkTo(context, '/app/team', 'Open the team’s page');
}

function linkTo({ url }: MailSite, path: string, label: string) {
  return url === undefined ? undefined : { label, link: `${url}${path}` };
}

function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
