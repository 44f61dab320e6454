import { CompiledQuery, sql, type Kysely, type RawBuilder } from 'kysely';
import { spanOf } from '../ledger/archive.ts';
import { DAY_MS, dayOf, DAY_QUARTERS, QUARTER_MS, zoneOffsets, type ZoneOffset } from '../std/calendar.ts';
import { numbered, type SlowQuery } from '../store/background-thread.ts';
import type { Schema } from '../store/schema.ts';
import { countDay, type CountedClient, type CountedDay } from './counted-usage.ts';
import type { Reader } from './reader.ts';
import { quarterOf, type UsageOfDay } from './usage-sums.ts';
import { sumUsage, USAGE_COLUMNS, type UsageSums } from './usage.ts';

interface Parts {
  readonly db: Kysely<Schema>;
  readonly reader: Pick<Reader, 'all'>;
}

/** Days are yyyymmdd, both inclusive, UTC. */
interface AccountDays {
  readonly accountId: string;
  readonly from: number;
  readonly to: number;
}

interface LiveDay {
  readonly day: number;
  readonly counted: CountedDay;
}

interface CountedDays {
  /** Days that were counted just now. */
  readonly live: readonly LiveDay[];
  readonly missing: number;
}

/** How many days are counted while somebody waits, and of how many requests at most. */
const LIVE_DAYS = 2;
const LIVE_REQUESTS = 20_000;

/**
 * An account's usage as it was counted from receipts: rows of the days that are counted, and what was just now counted of
 * those that have requests since. `sums` are the sums of the same days that each settlement writes: they tell which.
 */
export class UsageByHour {
  readonly #parts: Parts;
  readonly #range: AccountDays;
  readonly #live: readonly LiveDay[];
  /** How many of the requests are not counted: their receipts had left before, or they are being counted. */
  readonly missing: number;

  private constructor(parts: Parts, range: AccountDays, read: CountedDays) {
    this.#parts = parts;
    this.#range = range;
    this.#live = read.live;
    this.missing = read.missing;
  }

  static async read(
    parts: Parts,
    range: AccountDays,
    sums: Promise<readonly Pick<UsageOfDay, 'day' | 'requests'>[]>,
  ): Promise<UsageByHour> {
    const [days, kept] = await Promise.all([sums, keptDays(parts, range)]);
    const keptOf = (day: number): number => kept.get(day) ?? 0;
    const behind = days.filter(({ day, requests }) => requests > keptOf(day));
    let missing = behind.reduce((sum, { day, requests }) => sum + requests - keptOf(day), 0);
    const live: LiveDay[] = [];
    for (const { day, requests } of behind.slice(-LIVE_DAYS)) {
      if (requests > LIVE_REQUESTS) continue;
      const counted = await countDay(readQuery(parts), spanOf(day).fromMs, range.accountId);
      const { requests: found } = sumUsage(counted.quarters);
      // Receipts that have left are still in what was kept.
      if (found <= keptOf(day)) continue;
      missing -= found - keptOf(day);
      live.push({ day, counted });
    }
    // A request that ends meanwhile is counted, and not in the sums.
    return new UsageByHour(parts, range, { live, missing: Math.max(0, missing) });
  }

  /** 168 at most: 0 is the first hour of a Monday in that zone. */
  async byHourOfWeek(zone: string): Promise<ReadonlyMap<number, UsageSums>> {
    const offsets = this.#offsets(zone);
    const place = (quarter: number): number => hourOfWeek(quarter + offsetOf(offsets, quarter));
    const local = localSql(offsets);
    return await this.#quarters(
      sql<number>`(${local} / 4 + ${sql.lit(EPOCH_HOUR)}) % ${sql.lit(WEEK_HOURS)}`,
      place,
    );
  }

  /**
   * By the hour of that zone in which it began, as quarters since 1970. An hour that clocks repeat is two. With `newest`, at
   * least so many of the newest are whole, and older ones may be missing.
   */
  async byHour(zone: string, newest?: number): Promise<ReadonlyMap<number, UsageSums>> {
    const offsets = this.#offsets(zone);
    const start = (quarter: number): number => quarter - ((quarter + offsetOf(offsets, quarter)) % 4);
    const mostRows = newest && newest * HOUR_QUARTERS;
    return await this.#quarters(sql<number>`quarter - (${localSql(offsets)}) % 4`, start, mostRows);
  }

  /** The clients with the largest charge first. */
  async byClient(most: number): Promise<(UsageSums & { readonly client: string })[]> {
    const kept = await this.#parts.reader.all(
      this.#clientRows()
        .select('client')
        .select(summed)
        .groupBy('client')
        .orderBy('charged', 'desc')
        .orderBy('requests', 'desc')
        .limit(MOST_KEPT),
    );
    const live = this.#live.flatMap(({ counted }) => counted.clients);
    const clients = Map.groupBy([...kept, ...live], ({ client }) => client);
    return [...clients]
      .map(([client, rows]) => ({ client, ...sumUsage(rows) }))
      .toSorted((a, b) => b.charged - a.charged || b.requests - a.requests || (a.client < b.client ? -1 : 1))
      .slice(0, most);
  }

  /** The rows of some clients by day, or of all. */
  async clientDays(named?: readonly string[]): Promise<Omit<CountedClient, 'account_id'>[]> {
    if (named?.length === 0) return [];
    const rows = this.#clientRows().select(['day', 'client', ...USAGE_COLUMNS]);
    const kept = await this.#parts.reader.all(
      (named ? rows.where('client', 'in', named) : rows).orderBy('day').orderBy('client'),
    );
    const live = this.#live.flatMap(({ counted }) => counted.clients);
    return [...kept, ...live.filter(({ client }) => named?.includes(client) ?? true)];
  }

  /** Summed by the database, but for the days that were counted just now. */
  async #quarters(
    group: RawBuilder<number>,
    groupOf: (quarter: number) => number,
    mostRows?: number,
  ): Promise<ReadonlyMap<number, UsageSums>> {
    const { db, reader } = this.#parts;
    const { accountId } = this.#range;
    const { first, end } = this.#span();
    let rows = db
      .selectFrom('usage_quarter')
      .select(['quarter', ...USAGE_COLUMNS])
      .where('account_id', '=', accountId)
      .where('quarter', '>=', first)
      .where('quarter', '<', end);
    for (const day of this.#liveDays()) {
      const start = spanOf(day).fromMs / QUARTER_MS;
      rows = rows.where(sql<boolean>`NOT (quarter >= ${start} AND quarter < ${start + DAY_QUARTERS})`);
    }
    if (mostRows !== undefined) rows = rows.orderBy('quarter', 'desc').limit(mostRows);
    const kept = await reader.all(
      db
        .selectFrom(rows.as('part'))
        .select(sql<number>`CAST(${group} AS BIGINT)`.as('group'))
        .select(summed)
        .groupBy('group')
        .orderBy('group'),
    );
    const live = this.#live.flatMap(({ counted }) =>
      counted.quarters.map((row) => ({ ...row, group: groupOf(row.quarter) })),
    );
    const groups = Map.groupBy([...kept, ...live], (row) => row.group);
    return new Map([...groups].map(([key, rows]) => [key, sumUsage(rows)]));
  }

  #clientRows() {
    const { accountId, from, to } = this.#range;
    return this.#parts.db
      .selectFrom('usage_client')
      .where('account_id', '=', accountId)
      .where('day', '>=', from)
      .where('day', '<=', to)
      .$if(this.#live.length > 0, (query) => query.where('day', 'not in', this.#liveDays()));
  }

  #liveDays(): number[] {
    return this.#live.map(({ day }) => day);
  }

  #span(): { readonly first: number; readonly end: number } {
    return { first: quarterOf(this.#range.from), end: quarterOf(this.#range.to) + DAY_QUARTERS };
  }

  #offsets(zone: string): readonly ZoneOffset[] {
    const { first, end } = this.#span();
    return zoneOffsets(zone, first, end);
  }
}

/** More than anybody reads. */
const MOST_KEPT = 1_000;
const HOUR_QUARTERS = 4;
const WEEK_HOURS = 168;
/** 1970 began on a Thursday, three days into its week. */
const EPOCH_HOUR = 72;

function summed() {
  return USAGE_COLUMNS.map((name) => sql<number>`CAST(sum(${sql.ref(name)}) AS BIGINT)`.as(name));
}

/** How many requests of each day are counted. */
async function keptDays({ db, reader }: Parts, range: AccountDays): Promise<ReadonlyMap<number, number>> {
  const rows = await reader.all(
    db
      .selectFrom('usage_quarter')
      .select([
        sql<number>`CAST(quarter / ${sql.lit(DAY_QUARTERS)} AS BIGINT)`.as('day'),
        sql<number>`CAST(sum(requests) AS BIGINT)`.as('requests'),
      ])
      .where('account_id', '=', range.accountId)
      .where('quarter', '>=', quarterOf(range.from))
      .where('quarter', '<', quarterOf(range.to) + DAY_QUARTERS)
      .groupBy(sql`1`),
  );
  return new Map(rows.map(({ day, requests }) => [dayOf(day * DAY_MS), requests]));
}

function readQuery({ db, reader }: Parts): SlowQuery {
  return <Row>(text: string, values: readonly (string | number)[]) =>
    reader.all<Row>({
      compile: () => CompiledQuery.raw(text, [...values]),
      execute: async () => {
        const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(numbered(text), [...values]));
        return rows;
      },
    });
}

function offsetOf(offsets: readonly ZoneOffset[], quarter: number): number {
  return offsets.findLast(({ from }) => from <= quarter)?.offset ?? 0;
}

/** The quarter of local time, as SQL. */
function localSql(offsets: readonly ZoneOffset[]): RawBuilder<number> {
  const cases = offsets
    .toReversed()
    .map(({ from, offset }) => sql`WHEN quarter >= ${sql.lit(from)} THEN ${sql.lit(offset)}`);
  return sql<number>`(quarter + CASE ${sql.join(cases, sql` `)} ELSE 0 END)`;
}

function hourOfWeek(local: number): number {
  return (Math.floor(local / 4) + EPOCH_HOUR) % WEEK_HOURS;
}
