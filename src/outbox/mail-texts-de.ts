import type { MailSite, MailTexts } from './mail-data.ts';

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
    subject: `Ihr Guthaben bei ${site.name} ist niedrig`,
    paragraphs: [
      `Ihr Guthaben beträgt ${balance} und liegt unter den ${threshold}, bei denen Sie benachrichtigt werden wollten.`,
      'Wenn es verbraucht ist, werden Anfragen abgelehnt, bis Sie es aufladen.',
    ],
    action: linkTo(site, '/app/billing', 'Abrechnung öffnen'),
  }),
  'sign-in.new-device': ({ at, address, device }, site) => ({
    subject: `Neue Anmeldung bei ${site.name}`,
    paragraphs: [
      `Jemand hat sich mit einem bisher unbekannten Browser in Ihrem Konto angemeldet: ${timeText(at)}, von ${address}, mit ${device}.`,
      'Wenn Sie es waren, brauchen Sie nichts zu tun. Wenn nicht, ändern Sie Ihr Passwort und beenden Sie die anderen Sitzungen in den Einstellungen.',
    ],
    action: linkTo(site, '/app/settings', 'Einstellungen öffnen'),
  }),
  'payment.receipt': ({ amount, credited, balance, paidAt, reference }, site) => ({
    subject: `Ihre Zahlung an ${site.name}`,
    paragraphs: [
      `Vielen Dank. Wir haben am ${timeText(paidAt)} ${amount} erhalten.`,
      `${credited} wurden Ihrem Guthaben gutgeschrieben. Es beträgt jetzt ${balance}.`,
      `Referenz: ${reference}`,
    ],
    action: linkTo(site, '/app/billing', 'Abrechnung öffnen'),
  }),
  'top-up.done': ({ amount, credited, balance, paidAt, reference }, site) => ({
    subject: `Automatische Aufladung bei ${site.name}`,
    paragraphs: [
      `Ihr Guthaben ist unter Ihren Schwellenwert gefallen. Wir haben Ihre hinterlegte Karte deshalb am ${timeText(paidAt)} mit ${amount} belastet.`,
      `${credited} wurden Ihrem Guthaben gutgeschrieben. Es beträgt jetzt ${balance}.`,
      `Referenz: ${reference}`,
    ],
    action: linkTo(site, '/app/billing', 'Abrechnung öffnen'),
  }),
  'top-up.failed': ({ amount, balance, reason }, site) => ({
    subject: `Automatische Aufladung bei ${site.name} fehlgeschlagen`,
    paragraphs: [
      `Ihr Guthaben beträgt ${balance}. Wir wollten Ihre hinterlegte Karte mit ${amount} belasten. Das ist fehlgeschlagen: ${refusalOf(reason)}.`,
      'Wenn das Guthaben verbraucht ist, werden Anfragen abgelehnt. Bitte prüfen Sie Ihre Karte oder laden Sie selbst auf.',
    ],
    action: linkTo(site, '/app/billing', 'Abrechnung öffnen'),
  }),
  'top-up.stopped': ({ isDisputed }, site) => ({
    subject: `Die automatische Aufladung bei ${site.name} ist ausgeschaltet`,
    paragraphs: isDisputed
      ? [
          'Eine Kartenzahlung wurde angefochten. Deshalb haben wir die automatische Aufladung ausgeschaltet. Kartenzahlungen sind gesperrt, bis wir sie wieder freigeben: Bitte schreiben Sie uns.',
          'Danach bleibt die automatische Aufladung aus, bis Sie sie wieder einschalten.',
        ]
      : [
          'Eine Kartenzahlung wurde erstattet. Deshalb haben wir die automatische Aufladung ausgeschaltet.',
          'Sie bleibt aus, bis Sie sie wieder einschalten.',
        ],
    action: linkTo(site, '/app/billing', 'Abrechnung öffnen'),
  }),
  'webhook.paused': ({ url, reason }, site) => ({
    subject: `Ein Webhook bei ${site.name} ist angehalten`,
    paragraphs: [
      `Ihr Webhook ${url} ist seit Tagen nicht erreichbar und bekommt keine Ereignisse mehr. Der letzte Fehler: ${reason}.`,
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

function linkTo({ url }: MailSite, path: string, label: string) {
  return url === undefined ? undefined : { label, link: `${url}${path}` };
}

function timeText(at: number): string {
  const [day = '', time = ''] = new Date(at).toISOString().slice(0, 16).split('T');
  return `${day.split('-').toReversed().join('.')} um ${time} Uhr UTC`;
}
