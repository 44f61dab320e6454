import type { MonthlyStatement } from './monthly-statement.ts';
import { monthText, negative } from './statement-csv.ts';
import { StatementSheet } from './statement-sheet.ts';

/** A statement as PDF: the same bytes for the same statement, account and language. */
export async function statementPdf(
  statement: MonthlyStatement,
  { account, language }: { readonly account: string; readonly language: StatementLanguage },
): Promise<Uint8Array<ArrayBuffer>> {
  const { number, issuedAt, month } = statement;
  const texts = STATEMENT_TEXTS[language];
  const title = `${texts.title} ${texts.number} ${number}`;
  const sheet = new StatementSheet({ title, date: new Date(issuedAt), language });
  writeHead(sheet, statement, { account, language });
  writeSummary(sheet, statement, language);
  await writeEntries(sheet, statement, language);
  await writeRequests(sheet, statement, language);
  sheet.endTable();
  sheet.gap();
  sheet.paragraph(texts.rounding);
  if (sheet.hasMissing) sheet.paragraph(texts.missing);
  return sheet.finish(
    (page, pages) => `${title} · ${monthText(month)} · ${texts.page} ${page} ${texts.of} ${pages}`,
  );
}

function writeHead(
  sheet: StatementSheet,
  { issuer, number, month, issuedAt }: MonthlyStatement,
  { account, language }: { readonly account: string; readonly language: StatementLanguage },
): void {
  const texts = STATEMENT_TEXTS[language];
  if (issuer.name !== '') sheet.line(issuer.name, { bold: true });
  for (const line of issuer.address.split('\n').filter((one) => one.trim() !== '')) sheet.line(line.trim());
  if (issuer.taxId !== '') sheet.line(`${texts.taxId}: ${issuer.taxId}`);
  sheet.gap();
  sheet.line(`${texts.title} ${texts.number} ${number}`, { bold: true, size: 18 });
  sheet.gap();
  sheet.line(`${texts.account}: ${account}`);
  sheet.line(`${texts.month}: ${monthText(month)} (UTC)`);
  sheet.line(`${texts.issued}: ${dateOf(issuedAt)}`);
}

function writeSummary(sheet: StatementSheet, statement: MonthlyStatement, language: StatementLanguage): void {
  const { opening, moved, charged, closing } = statement;
  const texts = STATEMENT_TEXTS[language];
  sheet.table(texts.summary, texts.amount, texts.continued);
  sheet.row(texts.opening, exactUsd(opening, language));
  sheet.row(texts.moved, exactUsd(moved, language));
  sheet.row(texts.charged, exactUsd(negative(charged), language));
  sheet.row(texts.closing, exactUsd(closing, language), { bold: true });
}

async function writeEntries(
  sheet: StatementSheet,
  { entries }: MonthlyStatement,
  language: StatementLanguage,
): Promise<void> {
  const texts = STATEMENT_TEXTS[language];
  sheet.table(texts.moved, texts.amount, texts.continued);
  if (entries.length === 0) sheet.line(texts.nothing);
  for await (const { at, cause, amount } of withPauses(entries))
    sheet.row(`${dateOf(at)}   ${cause}`, exactUsd(amount, language));
}

async function writeRequests(
  sheet: StatementSheet,
  { days, models, accounts = [] }: MonthlyStatement,
  language: StatementLanguage,
): Promise<void> {
  const texts = STATEMENT_TEXTS[language];
  const line = (name: string, requests: number, charged: number): void =>
    sheet.row(`${name}   (${texts.requests}: ${requests})`, exactUsd(negative(charged), language));
  sheet.table(texts.days, texts.amount, texts.continued);
  if (days.length === 0) sheet.line(texts.nothing);
  for (const { day, requests, charged } of days)
    line(`${monthText(Math.floor(day / 100))}-${String(day % 100).padStart(2, '0')}`, requests, charged);
  if (accounts.length > 0) sheet.table(texts.accounts, texts.amount, texts.continued);
  for (const own of Map.groupBy(accounts, ({ id }) => id).values())
    line(own[0]?.name ?? '', sumOf(own, 'requests'), sumOf(own, 'charged'));
  if (models.length === 0) return;
  sheet.table(texts.models, texts.amount, texts.continued);
  for await (const { endpoint, model, requests, charged } of withPauses(models))
    line(`${endpoint}/${model}`, requests, charged);
}

function sumOf<Name extends string>(rows: readonly Readonly<Record<Name, number>>[], name: Name): number {
  return rows.reduce((sum, row) => sum + row[name], 0);
}

const TOGETHER = 50;

/** A long list must not keep the thread from serving requests. */
async function* withPauses<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const [index, item] of items.entries()) {
    if (index % TOGETHER === TOGETHER - 1) await new Promise((resolve) => setImmediate(resolve));
    yield item;
  }
}

function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

const NANO = 1_000_000_000;

/** All nine decimals, so that amounts below each other can be compared digit by digit. */
function exactUsd(amount: number, language: StatementLanguage): string {
  const whole = Math.floor(Math.abs(amount) / NANO);
  const fraction = String(Math.abs(amount) % NANO).padStart(9, '0');
  const [group, point] = language === 'de' ? ['.', ','] : [',', '.'];
  const grouped = String(whole).replace(/\B(?=(\d{3})+$)/g, group);
  return `${amount < 0 ? '–' : ''}${grouped}${point}${fraction}`;
}

/** The words of a statement's PDF, in the language of whoever reads it. */
type StatementTexts = Readonly<Record<keyof typeof EN, string>>;

type StatementLanguage = 'en' | 'de';

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
  accounts: 'Requests by member and app',
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
  accounts: 'Anfragen nach Mitglied und App',
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

const STATEMENT_TEXTS: Readonly<Record<StatementLanguage, StatementTexts>> = { en: EN, de: DE };
