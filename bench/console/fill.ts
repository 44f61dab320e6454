import { createHash } from 'node:crypto';
import { bulkWriter } from '../../scripts/seed/bulk.ts';
import { seededEndpoint, seededModel } from '../../scripts/seed/variety.ts';
import { seed } from '../../scripts/seed.ts';
import { makePasswords } from '../../src/identity/sign-in/password.ts';
import { makeUsers } from '../../src/identity/sign-in/users.ts';
import { REFUSED_CALL_LIMITS } from '../../src/activity/refused-calls.ts';
import { UsageHours } from '../../src/activity/usage-hours.ts';
import { TenDaySums } from '../../src/activity/ten-day-sums.ts';
import { systemClock } from '../../src/std/clock.ts';
import { newRequestId } from '../../src/std/ids.ts';
import type { Store } from '../../src/store/store.ts';

export interface Amounts {
  readonly models: number;
  readonly requests: number;
}

export const ADMIN = 'seed-admin@example.com';
export const CUSTOMER = 'seed-0@example.com';
export const PASSWORD = 'a phrase for measurements';
const ACCOUNTS = 200;
const DAYS = 90;
const DAY_MS = 86_400_000;
const AUDIT = 50_000;
const MESSAGES = 50_000;
const ENTRIES = 20_000;

/** Everything that the console lists, in large; one account has nearly a third of all requests. */
export async function fill(store: Store, { models, requests }: Amounts): Promise<void> {
  const now = Date.now();
  const { busyAccount } = await seed(store, {
    requests,
    accounts: ACCOUNTS,
    days: DAYS,
    now,
    models,
    busyShare: 0.3,
  });
  const users = makeUsers({ store, passwords: makePasswords(), clock: systemClock });
  await users.setPassword(busyAccount, PASSWORD);
  await users.create({ email: ADMIN, password: PASSWORD, role: 'admin' });
  const accounts = (
    await store.db.selectFrom('account').select('id').where('role', '=', 'user').orderBy('id').execute()
  ).map(({ id }) => id);
  const write = bulkWriter(store);
  await write.insert('audit', auditRows(accounts, now));
  await write.insert('outbox', messageRows(accounts, now));
  await write.insert('entry', entryRows(accounts, now));
  await write.insert('refused_call', refusedRows(accounts, now, models));
  // As on any server that has run for a while.
  const hours = new UsageHours({ store, clock: systemClock });
  while (!(await hours.count()));
  const tenDays = new TenDaySums({ store, clock: systemClock });
  while (!(await tenDays.count()));
  await write.finish();
}

const many = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));
const oneOf = <Item>(items: readonly Item[], index: number): Item => {
  const item = items[index % items.length];
  if (item === undefined) throw new RangeError('nothing to choose from');
  return item;
};

function auditRows(accounts: readonly string[], now: number) {
  const actions = ['account.credit', 'account.limits', 'catalog.save', 'codes.make', 'account.disable'];
  return many(AUDIT, (index) => ({
    at: now - (AUDIT - index) * 100_000,
    actor: oneOf(accounts, index * 7),
    action: oneOf(actions, index),
    target: oneOf(accounts, index),
    detail: '{"status":200}',
  }));
}

function messageRows(accounts: readonly string[], now: number) {
  return many(MESSAGES, (index) => {
    const at = now - (MESSAGES - index) * 100_000;
    return {
      id: newRequestId(at).replace('req_', 'msg_'),
      kind: 'mail' as const,
      topic: oneOf(['balance.low', 'payment.succeeded', 'token.replaced'], index),
      account_id: oneOf(accounts, index),
      destination: `seed-${index % ACCOUNTS}@example.com`,
      state: index % 500 === 0 ? ('failed' as const) : ('sent' as const),
      attempts: 1,
      next_at: at,
      expires_at: at + DAY_MS,
      created_at: at,
      finished_at: at + 1_000,
    };
  });
}

/** In pairs that cancel out, so that the balances stay right. */
function entryRows(accounts: readonly string[], now: number) {
  return many(ENTRIES, (index) => ({
    account_id: oneOf(accounts, Math.floor(index / 2)),
    kind: index % 2 === 0 ? ('credit' as const) : ('adjustment' as const),
    amount: index % 2 === 0 ? 5_000_000_000 : -5_000_000_000,
    cause: index % 2 === 0 ? 'bank transfer' : 'correction',
    actor: 'seed',
    created_at: now - (ENTRIES - index) * 300_000,
  }));
}

function refusedRows(accounts: readonly string[], now: number, models: number) {
  const reasons = ['insufficient_balance', 'rate_limited', 'model_not_found', 'invalid_field'];
  return many(REFUSED_CALL_LIMITS.rows, (index) => {
    const at = now - Math.floor(((index + 1) / REFUSED_CALL_LIMITS.rows) * REFUSED_CALL_LIMITS.keptMs);
    return {
      account_id: oneOf(accounts, index),
      id: createHash('sha256').update(String(index)).digest('base64url').slice(0, 22),
      first_at: at,
      last_at: at,
      calls: 1 + (index % 9),
      request_id: newRequestId(at),
      operation: '/api/public/v1/chat/completions',
      endpoint: seededEndpoint(index),
      model: seededModel(index % models),
      client: 'OpenAI/Python 2.1.0',
      status: 402,
      reason: oneOf(reasons, index),
      message: null,
      param: null,
    };
  });
}

/** The catalog to the traffic: every model that was seeded, each priced. */
export function catalogOf(models: number): string {
  const lines = (endpoint: string): string =>
    many(models, (number) => number)
      .filter((number) => seededEndpoint(number) === endpoint)
      .map((number) => {
        const tenths = 1 + (number % 50);
        const [input, cached, output] = [tenths / 10, tenths / 100, (tenths * 4) / 10];
        return `    - { model: "${seededModel(number)}", display_name: Model ${number}, input: ${input}, cached_input: ${cached}, output: ${output}, context: 128000, max_output: 8000, tools: true }`;
      })
      .join('\n');
  const endpoints = [...new Set([0, 1, 2].map(seededEndpoint))];
  return `upstreams:
  house: { kind: house }
lists:
${endpoints.map((endpoint) => `  ${endpoint}_models:\n${lines(endpoint)}`).join('\n')}
endpoints:
${endpoints.map((endpoint) => `  ${endpoint}: { name: ${endpoint}, type: chat_completion, lists: [${endpoint}_models], upstreams: [house] }`).join('\n')}
`;
}
