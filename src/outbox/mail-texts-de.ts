import type { Period } from '../std/calendar.ts';
import { changeLines, type MailContext, type MailSite, type MailTexts } from './mail-data.ts';

export const MAIL_TEXTS_DE: MailTexts = {
  'address.verify': ({ link, hours }, { name }) => ({
    subject: `Bestätigen Sie Ihre Adresse für ${name}`,
    paragraphs: [
      `Jemand hat diese Adresse bei ${name} angemeldet. Wenn Sie es waren, bestätigen Sie sie mit diesem Link innerhalb von ${hours} Stunden.`,
      'Wenn nicht, brauchen Sie nichts zu tun.',
    ],
    action: { label: 'Adresse bestätigen', link },
  }),
  'password.reset': ({ link, minutes }, { name }) => ({
    subject: `Ein neues Passwort für ${name}`,
    paragraphs: [
      `Jemand hat ein neues Passwort für Ihr Konto bei ${name} verlangt. Dieser Link setzt eines. Er gilt einmal, ${minutes} Minuten lang.`,
      'Wenn Sie es nicht waren, beachten Sie diese E-Mail nicht: Ihr Passwort bleibt, wie es ist.',
    ],
    action: { label: 'Neues Passwort setzen', link },
  }),
  'balance.low': ({ balance, threshold }, site) => ({
    subject: `${balanceOf(site)} bei ${site.name} ist niedrig`,
    paragraphs: [
      `${balanceOf(site)} beträgt ${balance} und liegt unter den ${threshold}, bei denen Sie benachrichtigt werden wollten.`,
      'Wenn es verbraucht ist, werden Anfragen abgelehnt, bis Sie es aufladen.',
    ],
    action: linkToBilling(site),
  }),
  'limit.reached': ({ limit }, site) => ({
    subject:
      site.team === undefined
        ? `Ihr Monatslimit bei ${site.name} ist erreicht`
        : `Das Monatslimit von ${site.team} bei ${site.name} ist erreicht`,
    paragraphs: [
      `Das Limit beträgt ${limit} im Monat. Anfragen werden abgelehnt, bis der nächste Monat beginnt (UTC) oder das Limit erhöht wird.`,
    ],
    action: linkToBilling(site),
  }),
  'budget.low': ({ amount, per, used, resetsAt }, site) => ({
    subject: `${inTeam('budget', site)} bei ${site.name} ist zu 80 % verbraucht`,
    paragraphs: [
      `${used} von ${amount} ${PERIODS[per]} sind verbraucht. Wenn nichts mehr übrig ist, werden Anfragen abgelehnt${untilText(resetsAt)}.`,
    ],
    action: linkToBudget(site),
  }),
  'budget.reached': ({ amount, per, used, resetsAt }, site) => ({
    subject: `${inTeam('budget', site)} bei ${site.name} ist verbraucht`,
    paragraphs: [
      `${used} von ${amount} ${PERIODS[per]} sind verbraucht, und der Rest reicht für eine Anfrage nicht aus. Anfragen werden abgelehnt${untilText(resetsAt)}.`,
    ],
    action: linkToBudget(site),
  }),
  'token.expiring': ({ hint, expiresAt }, site) => ({
    subject: `${inTeam('token', site)} bei ${site.name} läuft bald ab`,
    paragraphs: [
      `Der Token ${hint} gilt bis zum ${timeText(expiresAt)}. Danach werden Anfragen mit ihm abgelehnt.`,
      site.account !== undefined
        ? 'Wenn er noch gebraucht wird, setzen Sie auf der Seite des Teams ein späteres Ende.'
        : site.team === undefined
          ? 'Wenn Sie ihn noch brauchen, schreiben Sie uns.'
          : 'Wenn Sie ihn noch brauchen, bitten Sie einen Besitzer oder Admin des Teams um ein späteres Ende.',
    ],
    action: linkTo(site, site.account === undefined ? '/app/key' : '/app/team', 'Konsole öffnen'),
  }),
  'price.changes': ({ from, isCancelled, models, more }, site) => ({
    subject: isCancelled
      ? `Die Preisänderung${forTeam(site)} bei ${site.name} ist abgesagt`
      : `Preise${forTeam(site)} bei ${site.name} ändern sich am ${timeText(from).slice(0, 10)}`,
    paragraphs: isCancelled
      ? [
          `Die Änderung, die wir für ${timeText(from)} angekündigt hatten, findet nicht statt. Die Preise bleiben, wie sie sind.`,
        ]
      : [
          `Diese Preise ändern sich am ${timeText(from)}. Bis dahin zahlen Sie die jetzigen. Tokenpreise gelten für eine Million Tokens.`,
          ...changeLines(models, {
            language: 'de',
            above: (label, tokens) => `${label} ab ${tokens} Eingabe-Tokens`,
            tier: (tier) => `Servicestufe ${tier}`,
            isNew: (line) => `Neu: ${line}`,
            isGone: (name) => `${name} wird nicht mehr angeboten.`,
          }),
          ...(more > 0 ? [`Und ${more} weitere: die Seite der Modelle zeigt sie.`] : []),
        ],
    action: linkTo(site, '/app/models', 'Alle Preise ansehen'),
  }),
  'sign-in.new-device': ({ at, address, device }, site) => ({
    subject: `Neue Anmeldung bei ${site.name}`,
    paragraphs: [
      `Jemand hat sich mit einem neuen Browser in Ihrem Konto angemeldet: ${timeText(at)}, von ${address}, mit ${device}.`,
      'Wenn Sie es waren, brauchen Sie nichts zu tun. Wenn nicht, ändern Sie Ihr Passwort und beenden Sie die anderen Sitzungen in den Einstellungen.',
    ],
    action: linkTo(site, '/app/settings', 'Einstellungen öffnen'),
  }),
  'payment.receipt': ({ amount, credited, balance, paidAt, reference }, site) => ({
    subject:
      site.team === undefined
        ? `Ihre Zahlung an ${site.name}`
        : `Eine Zahlung für ${site.team} an ${site.name}`,
    paragraphs: [
      `Vielen Dank. Wir haben am ${timeText(paidAt)} ${amount} erhalten.`,
      `${credited} wurden ${site.team === undefined ? 'Ihrem Guthaben' : `dem Guthaben von ${site.team}`} gutgeschrieben. Es beträgt jetzt ${balance}.`,
      `Referenz: ${reference}`,
    ],
    action: linkToBilling(site),
  }),
  'top-up.done': ({ amount, credited, balance, paidAt, reference }, site) => ({
    subject: `Automatische Aufladung${ofTeam(site)} bei ${site.name}`,
    paragraphs: [
      `${balanceOf(site)} ist unter den Schwellenwert gefallen. Wir haben die hinterlegte Karte deshalb am ${timeText(paidAt)} mit ${amount} belastet.`,
      `${credited} wurden ${site.team === undefined ? 'Ihrem Guthaben' : `dem Guthaben von ${site.team}`} gutgeschrieben. Es beträgt jetzt ${balance}.`,
      `Referenz: ${reference}`,
    ],
    action: linkToBilling(site),
  }),
  'top-up.failed': ({ amount, balance, reason }, site) => ({
    subject: `Automatische Aufladung${ofTeam(site)} bei ${site.name} fehlgeschlagen`,
    paragraphs: [
      `${balanceOf(site)} beträgt ${balance}. Wir wollten die hinterlegte Karte mit ${amount} belasten. Das ist fehlgeschlagen: ${refusalOf(reason)}.`,
      'Wenn das Guthaben verbraucht ist, werden Anfragen abgelehnt. Bitte prüfen Sie die Karte oder laden Sie selbst auf.',
    ],
    action: linkToBilling(site),
  }),
  'top-up.stopped': ({ isDisputed }, site) => ({
    subject: `Die automatische Aufladung${ofTeam(site)} bei ${site.name} ist ausgeschaltet`,
    paragraphs: isDisputed
      ? [
          'Eine Kartenzahlung wurde angefochten. Deshalb haben wir die automatische Aufladung ausgeschaltet. Kartenzahlungen sind gesperrt, bis wir sie wieder freigeben: Bitte schreiben Sie uns.',
          'Danach bleibt die automatische Aufladung aus, bis Sie sie wieder einschalten.',
        ]
      : [
          'Eine Kartenzahlung wurde erstattet. Deshalb haben wir die automatische Aufladung ausgeschaltet.',
          'Sie bleibt aus, bis Sie sie wieder einschalten.',
        ],
    action: linkToBilling(site),
  }),
  'webhook.paused': ({ url, reason }, site) => ({
    subject: `Ein Webhook${ofTeam(site)} bei ${site.name} ist angehalten`,
    paragraphs: [
      `Der Webhook ${url} ist seit Tagen nicht erreichbar und bekommt keine Ereignisse mehr. Der letzte Fehler: ${reason}.`,
      'Wenn er wieder erreichbar ist, setzen Sie ihn in der Konsole fort.',
    ],
    action: linkTo(site, '/app/webhooks', 'Webhooks öffnen'),
  }),
  'mail.test': ({ at }, { name }) => ({
    subject: `Ein Test von ${name}`,
    paragraphs: [`Diese E-Mail wurde am ${timeText(at)} aus der Konsole gesendet. Der Versand funktioniert.`],
  }),
};

/** The payment provider's words for what went wrong with a card. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['authentication_required', 'Die Bank verlangt eine Bestätigung; bitte zahlen Sie einmal von Hand'],
  ['card_declined', 'Die Bank hat die Karte abgelehnt'],
  ['expired_card', 'Die Karte ist abgelaufen'],
  ['insufficient_funds', 'Auf der Karte ist nicht genug Geld'],
  ['no_answer', 'Der Zahlungsdienst hat nicht geantwortet'],
  ['no_card', 'Es ist keine Karte gespeichert'],
  ['provider_unavailable', 'Der Zahlungsdienst hat nicht geantwortet'],
]);

function refusalOf(word: string): string {
  return REFUSALS.get(word) ?? `Die Bank oder der Zahlungsdienst hat es abgelehnt (${word})`;
}

function balanceOf({ team }: MailContext): string {
  return team === undefined ? 'Ihr Guthaben' : `Das Guthaben von ${team}`;
}

function ofTeam({ team }: MailContext): string {
  return team === undefined ? '' : ` von ${team}`;
}

const THINGS = {
  budget: { own: 'Ihr Budget', others: 'Das Budget' },
  token: { own: 'Ihr Token', others: 'Der Token' },
} as const;

/** Names whose thing it is: the reader's own, the reader's in a team, or that of an account of the team. */
function inTeam(thing: keyof typeof THINGS, { team, account }: MailContext): string {
  const { own, others } = THINGS[thing];
  const whose = account === undefined ? own : `${others} von ${account}`;
  return team === undefined ? whose : `${whose} in ${team}`;
}

const PERIODS: Record<Period, string> = {
  day: 'für heute',
  week: 'für diese Woche',
  month: 'für diesen Monat',
  total: 'insgesamt',
};

function untilText(resetsAt: number | undefined): string {
  return resetsAt === undefined ? '' : `, bis zum ${timeText(resetsAt)}`;
}

function forTeam({ team }: MailContext): string {
  return team === undefined ? '' : ` für ${team}`;
}

function linkToBilling(context: MailContext) {
  return context.team === undefined
    ? linkTo(context, '/app/billing', 'Abrechnung öffnen')
    : linkTo(context, '/app/team', 'Seite des Teams öffnen');
}

function linkToBudget(context: MailContext) {
  return context.team === undefined
    ? linkTo(context, '/app/usage', 'Verbrauch öffnen')
    : linkTo(context, '/app/team', 'Seite des Teams öffnen');
}

function linkTo({ url }: MailSite, path: string, label: string) {
  return url === undefined ? undefined : { label, link: `${url}${path}` };
}

function timeText(at: number): string {
  const [day = '', time = ''] = new Date(at).toISOString().slice(0, 16).split('T');
  return `${day.split('-').toReversed().join('.')} um ${time} Uhr UTC`;
}
