/** The words of a statement's PDF, in the language of whoever reads it. */
export type StatementTexts = Readonly<Record<keyof typeof EN, string>>;

export type StatementLanguage = 'en' | 'de';

const EN = {
  title: 'Statement',
  number: 'No.',
  issued: 'Issued on',
  month: 'Month',
  taxId: 'Tax ID',
  account: 'Account',
  summary: 'Summary',
  amount: 'US dollars',
  opening: 'Balance at the beginning of the month',
  closing: 'Balance at the end of the month',
  moved: 'Payments, credits and adjustments',
  charged: 'Requests',
  days: 'Requests by day',
  models: 'Requests by model',
  requests: 'requests',
  nothing: 'None this month',
  continued: 'continued',
  rounding:
    'All amounts are US dollars and exact: each request was rounded up once, to a billionth of a dollar, when it was booked, and no sum was rounded after that. Days are UTC; a request belongs to the day on which it began. This is a statement of a prepaid balance and no invoice.',
  missing: 'A character that the font of this file does not have is shown as "?". The CSV file has it.',
  page: 'Page',
  of: 'of',
};

const DE: StatementTexts = {
  title: 'Kontoauszug',
  number: 'Nr.',
  issued: 'Ausgestellt am',
  month: 'Monat',
  taxId: 'Steuernummer',
  account: 'Konto',
  summary: 'Übersicht',
  amount: 'US-Dollar',
  opening: 'Guthaben am Anfang des Monats',
  closing: 'Guthaben am Ende des Monats',
  moved: 'Zahlungen, Gutschriften und Korrekturen',
  charged: 'Anfragen',
  days: 'Anfragen nach Tag',
  models: 'Anfragen nach Modell',
  requests: 'Anfragen',
  nothing: 'Keine in diesem Monat',
  continued: 'Fortsetzung',
  rounding:
    'Alle Beträge sind US-Dollar und genau: Jede Anfrage wurde einmal aufgerundet, auf ein Milliardstel Dollar, als sie gebucht wurde; danach wurde keine Summe gerundet. Tage sind UTC; eine Anfrage gehört zu dem Tag, an dem sie begann. Dies ist der Auszug eines vorausbezahlten Guthabens und keine Rechnung.',
  missing: 'Ein Zeichen, das die Schrift dieser Datei nicht hat, erscheint als „?“. Die CSV-Datei hat es.',
  page: 'Seite',
  of: 'von',
};

export const STATEMENT_TEXTS: Readonly<Record<StatementLanguage, StatementTexts>> = { en: EN, de: DE };
