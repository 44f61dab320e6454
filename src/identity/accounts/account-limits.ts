import { parseNetwork } from '../../std/addresses.ts';
import type { Period } from '../../std/calendar.ts';
import { Fault } from '../../std/fault.ts';
import { isModelPattern, LONGEST_PATTERN, MOST_PATTERNS } from '../../std/model-patterns.ts';
import { parseUsd, type NanoUsd } from '../../std/money.ts';
import type { AccountTable, Schema } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { Kysely, Updateable } from 'kysely';

/** What an account may spend, and what its token may be used for. An absent field changes nothing, `null` removes a limit. */
export interface SpendingLimits {
  readonly budget?: NewBudget | null | undefined;
  readonly models?: readonly string[] | null | undefined;
  readonly networks?: readonly string[] | null | undefined;
  readonly expiresAt?: number | null | undefined;
}

export interface NewBudget {
  readonly amount: NanoUsd;
  readonly per: Period;
}

const PERIODS: readonly Period[] = ['day', 'week', 'month', 'total'];
const MOST_NETWORKS = 50;
/** As many tags, and names as long, as OpenAI allows in `metadata`. */
const MOST_TAGS = 16;
const LONGEST_TAG = 64;

/** `20/month`; an amount alone is for all time. `none` is no budget. */
export function parseBudget(text: string): NewBudget | null {
  if (text === 'none') return null;
  const [amountText = '', per = 'total', ...rest] = text.split('/');
  const amount = parseUsd(amountText);
  if (amount === undefined || rest.length > 0 || !isPeriod(per))
    throw new Fault(
      'invalid_field',
      `'${text}' is not a budget such as 5/day, 20/month, 100/total or none.`,
      {
        param: 'budget',
      },
    );
  return { amount, per };
}

function isPeriod(text: string): text is Period {
  return PERIODS.some((one) => one === text);
}

/** The columns of what a token may be used for; throws where one makes no sense. */
export function tokenColumns({ models, networks, expiresAt }: SpendingLimits): Updateable<AccountTable> {
  return {
    ...(models === undefined
      ? {}
      : { token_models: models === null ? null : checkedModels(models).join('\n') }),
    ...(networks === undefined
      ? {}
      : { token_networks: networks === null ? null : checkedNetworks(networks).join('\n') }),
    ...(expiresAt === undefined ? {} : { token_expires_at: expiresAt }),
  };
}

function checkedModels(patterns: readonly string[]): readonly string[] {
  if (patterns.length === 0 || patterns.length > MOST_PATTERNS)
    throw wrong('models', `name from 1 to ${MOST_PATTERNS} patterns of models`);
  for (const pattern of patterns) {
    if (!isModelPattern(pattern))
      throw wrong(
        'models',
        `'${pattern.slice(0, LONGEST_PATTERN)}' is not a pattern such as svc_chat/gpt-5 or svc_chat/*`,
      );
  }
  return patterns;
}

/** Each in the one form in which both stores compare it. */
function checkedNetworks(networks: readonly string[]): readonly string[] {
  if (networks.length === 0 || networks.length > MOST_NETWORKS)
    throw wrong('networks', `name from 1 to ${MOST_NETWORKS} networks`);
  return networks.map((text) => {
    const network = parseNetwork(text);
    if (network === undefined) throw wrong('networks', `'${text}' is not a network such as 192.0.2.0/24`);
    return network;
  });
}

function wrong(param: string, message: string): Fault {
  return new Fault('invalid_field', `${param}: ${message}.`, { param });
}

/** `project,customer`, or `none`. */
export function parseTagNames(text: string): readonly string[] {
  return text === 'none' ? [] : text.split(',').map((name) => name.trim());
}

export async function chooseTags(
  store: Store,
  walletId: string,
  names: readonly string[],
  now: number,
): Promise<void> {
  const change = { names: checkedNames(names).join('\n'), changed_at: await dateOfChange(store.db, now) };
  await store.db
    .insertInto('tag_choice')
    .values({ wallet_id: walletId, ...change })
    .onConflict((conflict) => conflict.column('wallet_id').doUpdateSet(change))
    .execute();
  await store.durable();
}

/** Nothing is kept of the wallet's requests any more. */
export async function chooseNoTags(db: Kysely<Schema>, walletId: string, now: number): Promise<void> {
  await db
    .updateTable('tag_choice')
    .set({ names: '', changed_at: await dateOfChange(db, now) })
    .where('wallet_id', '=', walletId)
    .execute();
}

/** After every other, whatever the clocks of nodes say: each looks for what is newer than the last that it has seen. */
async function dateOfChange(db: Kysely<Schema>, now: number): Promise<number> {
  const { last } = await db
    .selectFrom('tag_choice')
    .select((row) => row.fn.max<number | null>('changed_at').as('last'))
    .executeTakeFirstOrThrow();
  return Math.max(now, (last ?? 0) + 1);
}

function checkedNames(names: readonly string[]): readonly string[] {
  const isName = (name: string): boolean => /^[\w.:-]+$/.test(name) && name.length <= LONGEST_TAG;
  const isRight = names.length <= MOST_TAGS && new Set(names).size === names.length && names.every(isName);
  if (isRight) return names;
  throw new Fault(
    'invalid_field',
    `tags: name at most ${MOST_TAGS} fields of metadata such as project, or user, each once; letters, digits and . : _ - only.`,
    { param: 'tags' },
  );
}

export async function chosenTags(db: Kysely<Schema>, walletId: string): Promise<readonly string[]> {
  const row = await db
    .selectFrom('tag_choice')
    .select('names')
    .where('wallet_id', '=', walletId)
    .executeTakeFirst();
  return row === undefined || row.names === '' ? [] : row.names.split('\n');
}
