import { z } from 'zod';
import { issuedNumbers, issueStatement, type MonthlyStatement } from '../activity/monthly-statement.ts';
import { monthText, statementCsv } from '../activity/statement-csv.ts';
import { chargedDays, type ChargedDay } from '../activity/charged-days.ts';
import { Fault } from '../std/fault.ts';
import { logoName, readLogo, readSite } from '../identity/sign-in/site.ts';
import { monthOf } from '../std/calendar.ts';
import { dayText, usd } from './amounts.ts';
import { requireAccount } from './overview.ts';
import type { RouteParts } from './parts.ts';
import { route } from './route.ts';
import { walletRoute } from './wallet.ts';

/** Ten years. */
const MAX_MONTHS = 120;
const language = z.enum(['en', 'de']).optional();

/** A month's days, and its statement: issued when it is first fetched, and the same for ever after. */
export const statementRoutes = [
  walletRoute('GET /api/console/statements', {
    right: 'see_money',
    handle: (parts, { id }) => listStatements(parts, id),
  }),
  walletRoute('GET /api/console/statements/{month}/days', {
    right: 'see_money',
    compressed: true,
    handle: (parts, { id }, { params }) => statementDays(parts, id, params.month),
  }),
  walletRoute('GET /api/console/statements/{month}/csv', {
    right: 'see_money',
    handle: (parts, { id }, { params }) => statementAsCsv(parts, id, params.month),
  }),
  walletRoute('GET /api/console/statements/{month}/pdf', {
    right: 'see_money',
    query: { language },
    handle: (parts, { id }, { params, query }) => statementAsPdf(parts, { id, ...params, ...query }),
  }),
];

/** The same of any account or team, for those who operate. */
export const adminStatementRoutes = [
  route('GET /api/console/admin/accounts/{id}/statements', {
    who: 'operator',
    may: 'see_business',
    summary: 'List the monthly statements of an account or team',
    handle: (parts, { params }) => listStatements(parts, params.id),
  }),
  route('GET /api/console/admin/accounts/{id}/statements/{month}/days', {
    who: 'operator',
    may: 'see_business',
    summary: 'List what an account or team was charged on each day of a month',
    compressed: true,
    handle: (parts, { params }) => statementDays(parts, params.id, params.month),
  }),
  route('GET /api/console/admin/accounts/{id}/statements/{month}/csv', {
    who: 'operator',
    may: 'check_books',
    summary: 'Get the monthly statement of an account or team as CSV',
    audit: 'statement.issue',
    handle: (parts, { params }) => statementAsCsv(parts, params.id, params.month),
  }),
  route('GET /api/console/admin/accounts/{id}/statements/{month}/pdf', {
    who: 'operator',
    may: 'check_books',
    summary: 'Get the monthly statement of an account or team as PDF',
    audit: 'statement.issue',
    query: z.strictObject({ language }),
    handle: (parts, { params, query }) => statementAsPdf(parts, { ...params, ...query }),
  }),
];

async function listStatements(parts: RouteParts, id: string) {
  const { created_at } = await requireAccount(parts, id);
  const issued = await issuedNumbers(parts.store.db, id);
  return monthsSince(created_at, parts.clock.now()).map((month) => ({
    month: monthText(month),
    /** Null: it was never fetched; it gets its number when it is. */
    number: issued.get(month) ?? null,
  }));
}

async function statementDays(parts: RouteParts, id: string, month: string) {
  const { store, reader } = parts;
  await requireAccount(parts, id);
  const first = readMonth(month) * 100 + 1;
  const range = { from: first, to: first + 30, limit: 31 };
  const days = await chargedDays({ db: store.db, reader }, id, range);
  return days.map(statementDay);
}

async function statementAsCsv(parts: RouteParts, id: string, month: string): Promise<Response> {
  const { statement, account } = await fetchStatement(parts, id, month);
  return download(statementCsv(statement, account), {
    type: 'text/csv; charset=utf-8',
    name: fileName(statement, 'csv'),
  });
}

interface WantedPdf {
  readonly id: string;
  readonly month: string;
  readonly language?: 'en' | 'de' | undefined;
}

async function statementAsPdf(
  parts: RouteParts,
  { id, month, language: wanted = 'en' }: WantedPdf,
): Promise<Response> {
  const { statement, account } = await fetchStatement(parts, id, month);
  // Loaded when it is first needed: few ask for one, and once a month.
  const { statementPdf } = await import('../activity/statement-pdf.ts');
  const { jpeg } = await readLogo(parts.store, statement.issuer.logo);
  const logo = jpeg === '' ? undefined : Buffer.from(jpeg, 'base64');
  return download(statementPdf(statement, { account, language: wanted, logo }), {
    type: 'application/pdf',
    name: fileName(statement, 'pdf'),
  });
}

/** What was charged on one day, UTC. */
export function statementDay({ day, requests, charged, archived }: ChargedDay) {
  return {
    day: dayText(day),
    requests,
    chargedUsd: usd(charged),
    /** Its receipts were archived; only their sum is left. */
    archived,
  };
}

function readMonth(text: string): number {
  const [, year, month] = /^(20\d\d)-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  if (year === undefined || month === undefined) throw noStatement();
  return Number(year + month);
}

async function fetchStatement(
  parts: RouteParts,
  accountId: string,
  text: string,
): Promise<{ statement: MonthlyStatement; account: string }> {
  parts.auth.throttle.act('statement', accountId);
  const month = readMonth(text);
  const { id, kind, name, email, created_at } = await requireAccount(parts, accountId);
  if (month < monthOf(created_at)) throw noStatement();
  const { issuer: named, siteName } = await readSite(parts.store);
  const logo = await logoName(parts.store);
  const issuer = { ...named, name: named.name || siteName, ...(logo === undefined ? {} : { logo }) };
  const order = { accountId, month, issuer, now: parts.clock.now() };
  return {
    statement: await issueStatement(parts.store, order),
    account: `${kind === 'team' ? name : email} (${id})`,
  };
}

function noStatement(): Fault {
  return new Fault('not_found', 'There is no statement of this month.');
}

/** Months that are over, from the newest to that of the account's creation. */
function monthsSince(from: number, now: number): number[] {
  const months: number[] = [];
  const date = new Date(now);
  for (let back = 1; back <= MAX_MONTHS; back++) {
    const month = monthOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back));
    if (month < monthOf(from)) break;
    months.push(month);
  }
  return months;
}

function fileName({ number, month }: MonthlyStatement, extension: string): string {
  return `statement-${number}-${monthText(month)}.${extension}`;
}

function download(
  body: string | Uint8Array<ArrayBuffer>,
  { type, name }: { readonly type: string; readonly name: string },
): Response {
  return new Response(body, {
    headers: {
      'content-type': type,
      'content-disposition': `attachment; filename="${name}"`,
      'cache-control': 'no-store',
    },
  });
}
