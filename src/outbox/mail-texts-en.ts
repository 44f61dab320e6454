import type { Period } from '../std/calendar.ts';
import { changeLines, type MailContext, type MailSite, type MailTexts } from './mail-data.ts';

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
    subject: `${balanceOf(site)} at ${site.name} is low`,
    paragraphs: [
      `${balanceOf(site)} is ${balance}, below the ${threshold} at which you wanted to be told.`,
      'When it is used up, requests are refused until you top up.',
    ],
    action: linkToBilling(site),
  }),
  'limit.reached': ({ limit }, site) => ({
    subject:
      site.team === undefined
        ? `Your monthly limit at ${site.name} is reached`
        : `The monthly limit of ${site.team} at ${site.name} is reached`,
    paragraphs: [
      `The limit is ${limit} a month. Requests are refused until the next month begins (UTC), or the limit is raised.`,
    ],
    action: linkToBilling(site),
  }),
  'budget.low': ({ amount, per, used, resetsAt }, site) => ({
    subject: `${inTeam('budget', site)} at ${site.name} is 80 % used`,
    paragraphs: [
      `${used} of ${amount} ${PERIODS[per]} is used. When all of it is, requests are refused${untilText(resetsAt)}.`,
    ],
    action: linkToBudget(site),
  }),
  'budget.reached': ({ amount, per, used, resetsAt }, site) => ({
    subject: `${inTeam('budget', site)} at ${site.name} is used up`,
    paragraphs: [
      `${used} of ${amount} ${PERIODS[per]} is used, and what is left is too little for a request. Requests are refused${untilText(resetsAt)}.`,
    ],
    action: linkToBudget(site),
  }),
  'token.expiring': ({ hint, expiresAt }, site) => ({
    subject: `${inTeam('token', site)} at ${site.name} expires soon`,
    paragraphs: [
      `The token ${hint} works until ${timeText(expiresAt)}. Requests with it are refused after that.`,
      site.account !== undefined
        ? 'If it is still needed, set a later end on the team’s page.'
        : site.team === undefined
          ? 'If you still need it, write to us.'
          : 'If you still need it, ask an owner or admin of the team for a later end.',
    ],
    action: linkTo(site, site.account === undefined ? '/app/key' : '/app/team', 'Open the console'),
  }),
  'price.changes': ({ from, isCancelled, models, more }, site) => ({
    subject: isCancelled
      ? `The change of prices${forTeam(site)} at ${site.name} is cancelled`
      : `Prices${forTeam(site)} at ${site.name} change on ${timeText(from).slice(0, 10)}`,
    paragraphs: isCancelled
      ? [`The change that we announced for ${timeText(from)} does not take place. Prices stay as they are.`]
      : [
          `These prices change on ${timeText(from)}. Until then you pay the present ones. Prices of tokens are per million tokens.`,
          ...changeLines(models, {
            language: 'en',
            above: (label, tokens) => `${label} above ${tokens} input tokens`,
            isNew: (line) => `New: ${line}`,
            isGone: (name) => `${name} is no longer offered.`,
          }),
          ...(more > 0 ? [`And ${more} more: the page of models shows them.`] : []),
        ],
    action: linkTo(site, '/app/models', 'See all prices'),
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
    subject:
      site.team === undefined ? `Your payment to ${site.name}` : `A payment for ${site.team} to ${site.name}`,
    paragraphs: [
      `Thank you. We received ${amount} on ${timeText(paidAt)}.`,
      `${credited} were added to ${site.team === undefined ? 'your balance' : `the balance of ${site.team}`}, which is now ${balance}.`,
      `Reference: ${reference}`,
    ],
    action: linkToBilling(site),
  }),
  'top-up.done': ({ amount, credited, balance, paidAt, reference }, site) => ({
    subject: `Automatic top-up${ofTeam(site)} at ${site.name}`,
    paragraphs: [
      `${balanceOf(site)} fell below its threshold, so we charged the saved card with ${amount} on ${timeText(paidAt)}.`,
      `${credited} were added to ${site.team === undefined ? 'your balance' : `the balance of ${site.team}`}, which is now ${balance}.`,
      `Reference: ${reference}`,
    ],
    action: linkToBilling(site),
  }),
  'top-up.failed': ({ amount, balance, reason }, site) => ({
    subject: `Automatic top-up${ofTeam(site)} at ${site.name} failed`,
    paragraphs: [
      `${balanceOf(site)} is ${balance}. We tried to charge the saved card with ${amount}, which failed: ${refusalOf(reason)}.`,
      'Requests are refused when the balance is used up. Please check the card, or top up by hand.',
    ],
    action: linkToBilling(site),
  }),
  'top-up.stopped': ({ isDisputed }, site) => ({
    subject: `Automatic top-up${ofTeam(site)} at ${site.name} is off`,
    paragraphs: isDisputed
      ? [
          'A payment by card was disputed, so we turned automatic top-up off. Card payments are off until we allow them again: please write to us.',
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
      `The webhook ${url} has failed for days and gets no events any more. The last failure: ${reason}.`,
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
