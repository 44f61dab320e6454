import { pictureSize } from '../std/picture-size.ts';
import type { MonthlyStatement } from './monthly-statement.ts';
import { monthText, negative } from './statement-csv.ts';
import { StatementSheet, type SheetRow } from './statement-sheet.ts';

interface StatementReader {
  readonly account: string;
  readonly language: StatementLanguage;
  /** The issuer's, a JPEG. */
  readonly logo: Buffer | undefined;
}

/** What a list shows before its rest is one line, so that a month fits on two pages. */
const MOST = { address: 6, entries: 12, accounts: 12, models: 20 };

/** A statement as PDF, on one page or two: the same bytes for the same statement, account and language. */
export function statementPdf(
  statement: MonthlyStatement,
  { account, language, logo }: StatementReader,
): Uint8Array<ArrayBuffer> {
  const { number, issuedAt, month, issuer } = statement;
  const texts = STATEMENT_TEXTS[language];
  const title = `${texts.title} ${texts.number} ${number}`;
  const sheet = new StatementSheet({ title, date: new Date(issuedAt), language });
  const size = logo && pictureSize(logo);
  sheet.letterhead({
    name: issuer.name,
    lines: issuerLines(issuer, texts.taxId),
    logo: logo && size && { jpeg: logo, ...size },
  });
  writeTitle(sheet, statement, { account, language });
  const shown = shownAmounts(statement);
  writeSummary(sheet, shown, language);
  writeEntries(sheet, statement, { shown, language });
  writeRequests(sheet, statement, { shown, language });
  sheet.endTable();
  sheet.gap();
  sheet.paragraph(texts.notInvoice, { bold: true });
  sheet.paragraph(texts.rounding);
  if (sheet.hasMissing) sheet.paragraph(texts.missing);
  return sheet.finish(
    (page, pages) => `${title} · ${monthText(month)} · ${texts.page} ${page} ${texts.of} ${pages}`,
  );
}

function issuerLines({ address, taxId }: MonthlyStatement['issuer'], taxLabel: string): string[] {
  const lines = address.split('\n').flatMap((line) => line.trim() || []);
  return [...lines.slice(0, MOST.address), ...(taxId === '' ? [] : [`${taxLabel}: ${taxId}`])];
}

function writeTitle(
  sheet: StatementSheet,
  { number, month, issuedAt }: MonthlyStatement,
  { account, language }: Pick<StatementReader, 'account' | 'language'>,
): void {
  const texts = STATEMENT_TEXTS[language];
  const date = (at: number, options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat(language, { timeZone: 'UTC', ...options }).format(at);
  sheet.gap();
  sheet.line(`${texts.title} ${texts.number} ${number}`, { bold: true, size: 18 });
  sheet.gap();
  sheet.line(`${texts.account}: ${account}`);
  const firstDay = Date.UTC(Math.floor(month / 100), (month % 100) - 1);
  sheet.line(`${texts.month}: ${date(firstDay, { month: 'long', year: 'numeric' })} (UTC)`);
  sheet.line(`${texts.issued}: ${date(issuedAt, { dateStyle: 'long' })}`);
}

/** In cents. */
interface ShownAmounts {
  readonly opening: number;
  readonly moved: number;
  readonly charged: number;
  readonly closing: number;
}

/** Each balance is that of the neighbouring statement, so what was charged gives way by a cent where they would not add up. */
function shownAmounts({ opening, moved, closing }: MonthlyStatement): ShownAmounts {
  const shown = { opening: toCents(opening), moved: toCents(moved), closing: toCents(closing) };
  return { ...shown, charged: shown.opening + shown.moved - shown.closing };
}

function writeSummary(sheet: StatementSheet, shown: ShownAmounts, language: StatementLanguage): void {
  const texts = STATEMENT_TEXTS[language];
  sheet.table({ text: texts.summary, amount: texts.amount }, texts.continued);
  const row = (text: string, cents: number): SheetRow => ({ text, amount: dollars(cents, language) });
  sheet.row(row(texts.opening, shown.opening));
  sheet.row(row(texts.moved, shown.moved));
  sheet.row(row(texts.charged, negative(shown.charged)));
  sheet.row(row(texts.closing, shown.closing), { bold: true });
}

interface Shown {
  readonly shown: ShownAmounts;
  readonly language: StatementLanguage;
}

function writeEntries(
  sheet: StatementSheet,
  { entries }: MonthlyStatement,
  { shown, language }: Shown,
): void {
  const texts = STATEMENT_TEXTS[language];
  sheet.table({ text: texts.moved, amount: texts.amount }, texts.continued);
  if (entries.length === 0) sheet.line(texts.nothing);
  const lines = entries.map(({ at, cause, amount }) => ({ name: `${dateOf(at)}   ${cause}`, amount }));
  const { listed, rest } = shortList(lines, MOST.entries, texts.otherEntries);
  for (const row of inCents([...listed, ...rest], shown.moved, language)) sheet.row(row);
}

function writeRequests(
  sheet: StatementSheet,
  { days, models, accounts = [] }: MonthlyStatement,
  { shown, language }: Shown,
): void {
  const texts = STATEMENT_TEXTS[language];
  const { continued } = texts;
  const head = (text: string) => ({ text, count: texts.requests, amount: texts.amount });
  const total = negative(shown.charged);
  sheet.table({ ...head(texts.days), isPaired: days.length > 0 }, continued);
  if (days.length === 0) sheet.line(texts.nothing);
  sheet.pairs(inCents(days.map(spent(({ day }) => dayText(day))), total, language));
  const list = (title: string, lines: readonly Line[], [most, others]: [number, string]): void => {
    if (lines.length === 0) return;
    const { listed, rest } = shortList(largestFirst(lines), most, others);
    sheet.table(head(title), continued);
    for (const row of inCents([...listed, ...rest], total, language)) sheet.row(row);
  };
  const members = [...Map.groupBy(accounts, ({ id }) => id).values()].map((own) => ({
    name: own[0]?.name ?? '',
    requests: sumOf(own, ({ requests }) => requests),
    charged: sumOf(own, ({ charged }) => charged),
  }));
  list(texts.accounts, members.map(spent(({ name }) => name)), [MOST.accounts, texts.otherAccounts]);
  const named = models.map(spent(({ endpoint, model }) => `${model}   ${endpoint}`));
  list(texts.models, named, [MOST.models, texts.otherModels]);
}

/** A line of a list before it is rounded; amounts are signed nano-USD. */
interface Line {
  readonly name: string;
  readonly requests?: number;
  readonly amount: number;
}

function spent<Row extends { readonly requests: number; readonly charged: number }>(
  name: (row: Row) => string,
): (row: Row) => Line {
  return (row) => ({ name: name(row), requests: row.requests, amount: negative(row.charged) });
}

/** Charges are negative. */
function largestFirst(lines: readonly Line[]): Line[] {
  return lines.toSorted((a, b) => a.amount - b.amount);
}

/** The first lines, and all others as one. */
function shortList(
  lines: readonly Line[],
  most: number,
  others: string,
): { listed: readonly Line[]; rest: readonly Line[] } {
  if (lines.length <= most) return { listed: lines, rest: [] };
  const rest = lines.slice(most - 1);
  const requests = sumOf(rest, (line) => line.requests ?? 0);
  const name = others.replace('{n}', String(rest.length));
  const amount = sumOf(rest, (line) => line.amount);
  return {
    listed: lines.slice(0, most - 1),
    rest: [{ name, amount, ...(requests > 0 ? { requests } : {}) }],
  };
}

const NANO_PER_CENT = 10_000_000;

/** To the nearest cent, half to even. */
function toCents(amount: number): number {
  const below = Math.floor(amount / NANO_PER_CENT);
  const rest = amount - below * NANO_PER_CENT;
  const isUp = rest * 2 > NANO_PER_CENT || (rest * 2 === NANO_PER_CENT && below % 2 !== 0);
  return isUp ? below + 1 : below;
}

/** In cents that add up to the total: those that were rounded furthest the other way give way by a cent. */
function inCents(lines: readonly Line[], total: number, language: StatementLanguage): SheetRow[] {
  const cents = lines.map(({ amount }) => toCents(amount));
  const missing = total - sumOf(cents, (one) => one);
  const step = Math.sign(missing);
  const error = (index: number): number =>
    step * ((cents[index] ?? 0) * NANO_PER_CENT - (lines[index]?.amount ?? 0));
  const order = lines.map((_, index) => index).toSorted((a, b) => error(a) - error(b));
  for (let given = 0; order.length > 0 && given < Math.abs(missing); given++) {
    const index = order[given % order.length] ?? 0;
    cents[index] = (cents[index] ?? 0) + step;
  }
  return lines.map(({ name, requests }, index) => ({
    text: name,
    amount: dollars(cents[index] ?? 0, language),
    ...(requests === undefined ? {} : { count: grouped(String(requests), language) }),
  }));
}

function sumOf<Row>(rows: readonly Row[], value: (row: Row) => number): number {
  return rows.reduce((sum, row) => sum + value(row), 0);
}

function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function dayText(day: number): string {
  return `${monthText(Math.floor(day / 100))}-${String(day % 100).padStart(2, '0')}`;
}

function dollars(cents: number, language: StatementLanguage): string {
  const whole = grouped(String(Math.floor(Math.abs(cents) / 100)), language);
  const fraction = String(Math.abs(cents) % 100).padStart(2, '0');
  return `${cents < 0 ? '–' : ''}${whole}${language === 'de' ? ',' : '.'}${fraction}`;
}

function grouped(digits: string, language: StatementLanguage): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, language === 'de' ? '.' : ',');
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
  opening: 'Opening balance',
  closing: 'Closing balance',
  moved: 'Payments, credits and adjustments',
  charged: 'Requests',
  days: 'Requests by day',
  accounts: 'Requests by member and app',
  models: 'Requests by model',
  requests: 'Requests',
  nothing: 'None this month',
  otherEntries: '{n} other entries',
  otherAccounts: '{n} other members and apps',
  otherModels: '{n} other models',
  continued: 'continued',
  notInvoice: 'This is not an invoice.',
  rounding:
    'Amounts are in US dollars, rounded to cents so that each column adds up. The CSV file has exact amounts. Days are in UTC. A request belongs to the day it started.',
  missing: 'Characters missing from this file’s font are shown as "?". The CSV file has them.',
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
  opening: 'Anfangsbestand',
  closing: 'Endbestand',
  moved: 'Zahlungen, Gutschriften und Korrekturen',
  charged: 'Anfragen',
  days: 'Anfragen nach Tag',
  accounts: 'Anfragen nach Mitglied und App',
  models: 'Anfragen nach Modell',
  requests: 'Anfragen',
  nothing: 'Keine in diesem Monat',
  otherEntries: '{n} weitere Buchungen',
  otherAccounts: '{n} weitere Mitglieder und Apps',
  otherModels: '{n} weitere Modelle',
  continued: 'Fortsetzung',
  notInvoice: 'Dies ist keine Rechnung.',
  rounding:
    'Beträge sind in US-Dollar und so auf Cent gerundet, dass jede Spalte aufgeht. Die CSV-Datei hat genaue Beträge. Tage sind in UTC. Eine Anfrage gehört zu dem Tag, an dem sie begann.',
  missing: 'Ein Zeichen, das die Schrift dieser Datei nicht hat, erscheint als „?“. Die CSV-Datei hat es.',
  page: 'Seite',
  of: 'von',
};

const STATEMENT_TEXTS: Readonly<Record<StatementLanguage, StatementTexts>> = { en: EN, de: DE };
