import type { Visitor } from './client.ts';

const DAY_MS = 86_400_000;

type Calls = Record<string, () => ReturnType<Visitor['get']>>;

/** Whatever a page of the console asks for, with each filter and order that it offers. */
export async function consoleCalls(customer: Visitor, admin: Visitor, now: number): Promise<Calls> {
  const newest = await firstId(customer, '/api/console/requests');
  return { ...customerCalls(customer, newest, now), ...adminCalls(admin, newest, now) };
}

const RARE = 'vendor-35/model-475';
const COMMON = 'vendor-0/model-0';

function customerCalls(visitor: Visitor, newest: string, now: number): Calls {
  const day = (ago: number): string => new Date(now - ago * DAY_MS).toISOString().slice(0, 10);
  const paths: Record<string, string> = {
    overview: '/overview',
    quickstart: '/quickstart',
    'models: all 5,000': '/models',
    'usage: 7 days': `/usage?from=${day(6)}&to=${day(0)}`,
    'usage: 30 days': `/usage`,
    'usage: 90 days': `/usage?from=${day(89)}&to=${day(0)}`,
    'usage: a year': `/usage?from=${day(365)}&to=${day(0)}`,
    'usage: 90 days by endpoint': `/usage?from=${day(89)}&to=${day(0)}&by=endpoint`,
    'usage: 90 days by day': `/usage?from=${day(89)}&to=${day(0)}&by=day`,
    'usage: 90 days by client': `/usage?from=${day(89)}&to=${day(0)}&by=client`,
    'usage: 90 days by hour': `/usage?from=${day(89)}&to=${day(0)}&by=hour&zone=Europe/Berlin`,
    'usage: a year by client': `/usage?from=${day(365)}&to=${day(0)}&by=client`,
    'usage: hours of 30 days': `/usage/hours?zone=Europe/Berlin`,
    'usage: hours of a year': `/usage/hours?from=${day(365)}&to=${day(0)}&zone=Europe/Berlin`,
    'usage: one model': `/usage?model=${COMMON}`,
    'requests: newest': '/requests',
    'requests: next page': `/requests?cursor=${newest}`,
    'requests: a day, 60 days ago': `/requests?from=${now - 60 * DAY_MS}&to=${now - 59 * DAY_MS}`,
    'requests: by endpoint': '/requests?endpoint=svc_chat',
    'requests: by a common model': `/requests?model=${COMMON}`,
    'requests: by a rare model': `/requests?model=${RARE}`,
    'requests: by a model never used': '/requests?model=never-used',
    'requests: failed': '/requests?outcome=failed',
    'requests: failed, by a rare model': `/requests?outcome=failed&model=${RARE}`,
    'requests: running': '/requests?state=pending',
    'requests: by cost': '/requests?sort=-cost',
    'requests: by duration, upwards': '/requests?sort=duration',
    'requests: by cost, of a common model': `/requests?sort=-cost&model=${COMMON}`,
    'requests: search by id': `/requests?search=${newest}`,
    'requests: search by client': '/requests?search=curl',
    'requests: search by error': '/requests?search=upstream_error',
    'requests: search without a result': '/requests?search=nothing-like-it',
    'requests: what the filters offer': '/request-values',
    'requests: first page of the file': `/requests.csv?from=${now - DAY_MS / 8}`,
    'one receipt': `/requests/${newest}`,
    'refused calls': '/refused-calls',
    'refused calls: by reason': '/refused-calls?reason=rate_limited',
    'billing: every line': '/entries?kind=all',
    'billing: money only': '/entries?kind=money',
    'billing: charges by day': '/entries?kind=charge',
    'billing: a month': `/entries?from=${day(60)}&to=${day(30)}`,
    'billing: search without a result': '/entries?search=nothing-like-it',
    'refused calls: by number': '/refused-calls?sort=-calls',
    'refused calls: search': '/refused-calls?search=python',
    'what the filters offer': '/list-values',
    statements: '/statements',
    'statements: days of a month': `/statements/${day(35).slice(0, 7)}/days`,
    images: '/images',
  };
  return asCalls(visitor, 'account: ', '/api/console', paths);
}

function adminCalls(visitor: Visitor, newest: string, now: number): Calls {
  const paths: Record<string, string> = {
    overview: '/overview',
    attention: '/attention',
    'traffic: an hour': '/traffic?range=hour',
    'traffic: today': '/traffic?range=today',
    'traffic: 7 days by revenue': '/traffic?range=week&measure=charged',
    accounts: '/accounts',
    'accounts: search': '/accounts?search=seed-19',
    'accounts: disabled': '/accounts?status=disabled',
    'accounts: by balance': '/accounts?sort=-balance',
    'accounts: by e-mail': '/accounts?sort=account',
    'accounts: search without a result': '/accounts?search=nothing-like-it',
    'requests: newest': '/requests',
    'requests: of one account': '/requests?account=seed-7@example.com',
    'requests: a day, 60 days ago': `/requests?from=${now - 60 * DAY_MS}&to=${now - 59 * DAY_MS}`,
    'requests: by endpoint': '/requests?endpoint=partner_chat',
    'requests: by a common model': `/requests?model=${COMMON}`,
    'requests: by a rare model': `/requests?model=${RARE}`,
    'requests: by a model never used': '/requests?model=never-used',
    'requests: failed': '/requests?outcome=failed',
    'requests: running': '/requests?state=pending',
    'requests: by cost': '/requests?sort=-cost',
    'requests: by duration': '/requests?sort=-duration',
    'requests: search by account': '/requests?search=seed-9@example.com',
    'requests: search by client': '/requests?search=curl',
    'requests: search without a result': '/requests?search=nothing-like-it',
    'requests: by backend': '/requests?backend=house',
    'requests: what the filters offer': '/request-values',
    'one receipt': `/requests/${newest}`,
    'refused calls': '/refused-calls',
    'refused calls: by reason': '/refused-calls?reason=rate_limited',
    'refused calls: of one account': '/refused-calls?account=seed-7@example.com',
    'refused calls: by account': '/refused-calls?sort=account',
    'refused calls: search without a result': '/refused-calls?search=nothing-like-it',
    'margin: 30 days by day': '/margin',
    'margin: 30 days by model': '/margin?by=model',
    'margin: a year by model': '/margin?by=model&days=366',
    'margin: a year by backend': '/margin?by=backend&days=366',
    'ledger: money': '/entries',
    'ledger: every line': '/entries?kind=all',
    'ledger: of one account': '/entries?kind=all&account=seed-7@example.com',
    'ledger: charges by day': '/entries?kind=charge',
    'ledger: search without a result': '/entries?kind=all&search=nothing-like-it',
    payments: '/payments',
    'payments: by amount': '/payments?sort=-amount',
    codes: '/codes',
    'codes: by amount': '/codes?sort=-amount',
    messages: '/messages',
    'messages: by topic': '/messages?topic=balance.low',
    'messages: by recipient': '/messages?sort=to',
    'messages: search without a result': '/messages?search=nothing-like-it',
    'messages: failed': '/messages?state=failed',
    'messages: waiting': '/messages?state=waiting',
    audit: '/audit',
    'audit: by action': '/audit?action=catalog.save',
    'audit: sorted by person': '/audit?sort=actor',
    'audit: search without a result': '/audit?search=nothing-like-it',
    'what the filters offer': '/list-values',
    backends: '/backends',
    catalog: '/catalog',
    'catalog: the draft': '/catalog/draft',
    prices: '/prices',
  };
  return asCalls(visitor, 'admin: ', '/api/console/admin', paths);
}

function asCalls(visitor: Visitor, before: string, root: string, paths: Record<string, string>): Calls {
  return Object.fromEntries(
    Object.entries(paths).map(([title, path]) => [before + title, () => visitor.get(root + path)]),
  );
}

async function firstId(visitor: Visitor, path: string): Promise<string> {
  const { text } = await visitor.get(path);
  const [, id] = /"id":"(req_\w+)"/.exec(text) ?? [];
  if (id === undefined) throw new Error(`nothing is listed: ${text.slice(0, 200)}`);
  return id;
}
