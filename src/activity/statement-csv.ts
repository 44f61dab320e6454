import { dayOf } from '../std/calendar.ts';
import { formatUsd, nanoUsd } from '../std/money.ts';
import { plural } from '../std/plural.ts';
import { csvLine } from './csv.ts';
import type { MonthlyStatement } from './monthly-statement.ts';

const HEADER = ['statement', 'account', 'date', 'kind', 'description', 'amount_usd'];

/**
 * A statement as CSV: the balance before, every entry, every day's usage (of a team by account), the balance after. The amounts from the first to
 * the last but one add up to the last, exactly. Who issued it and how amounts were rounded are lines without an amount.
 */
export function statementCsv(statement: MonthlyStatement, account: string): string {
  const { number, month, issuer, opening, closing, entries, days, accounts } = statement;
  const row = (date: string, kind: string, description: string, amount?: number): string =>
    csvLine([number, account, date, kind, description, amount === undefined ? null : signedUsd(amount)]);
  const about = (kind: string, text: string): string =>
    text === '' ? '' : row('', kind, text.split('\n').join(', '));
  return [
    csvLine(HEADER),
    about('issuer', issuer.name),
    about('issuer_address', issuer.address),
    about('issuer_tax_id', issuer.taxId),
    about('rounding', 'each request was rounded up once to a billionth of a dollar; sums are not rounded'),
    row(`${monthText(month)}-01`, 'opening', '', opening),
    ...entries.map(({ at, kind, cause, amount }) => row(new Date(at).toISOString(), kind, cause, amount)),
    ...(accounts
      ? accounts.map(({ name, day, requests, charged }) =>
          row(dayTextOf(day), 'charge', `${name}: ${plural(requests, 'request')}`, negative(charged)),
        )
      : days.map(({ day, requests, charged }) =>
          row(dayTextOf(day), 'charge', plural(requests, 'request'), negative(charged)),
        )),
    row(dayTextOf(lastDayOf(month)), 'closing', '', closing),
  ].join('');
}

/** Zero has no sign. */
export function negative(amount: number): number {
  return amount === 0 ? 0 : -amount;
}

/** 202611 → 2026-11 */
export function monthText(month: number): string {
  return `${Math.floor(month / 100)}-${String(month % 100).padStart(2, '0')}`;
}

function signedUsd(amount: number): string {
  return amount < 0 ? `-${formatUsd(nanoUsd(-amount))}` : formatUsd(nanoUsd(amount));
}

function dayTextOf(day: number): string {
  return `${monthText(Math.floor(day / 100))}-${String(day % 100).padStart(2, '0')}`;
}

function lastDayOf(month: number): number {
  return dayOf(Date.UTC(Math.floor(month / 100), month % 100, 0));
}
