import { afterEach, beforeEach, expect, test } from 'bun:test';
import { Client } from 'pg';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';
import { systemClock } from '../../src/std/clock.ts';
import { makeLog } from '../../src/std/log.ts';
import { migratePostgres } from '../../src/store/migrate.ts';
import { MIGRATIONS, type Migration } from '../../src/store/migrations/index.ts';
import { Gateway } from '../support/gateway.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';

/** A schema is changed beside a backup and beside nodes that serve, and whoever changes it may die at any point. */

const DEADLINE_MS = 120_000;
let databaseUrl: string;
let observer: Client;
let lines: string[];
const cleanUps: (() => unknown)[] = [];

beforeEach(async () => {
  databaseUrl = await (await testPostgres()).emptyDatabase();
  lines = [];
  observer = await connected();
}, DEADLINE_MS);
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
}, DEADLINE_MS);

async function connected(): Promise<Client> {
  const client = new Client(databaseUrl);
  client.on('error', () => undefined);
  await client.connect();
  cleanUps.push(() => client.end().catch(() => undefined));
  return client;
}

function migrate(steps: readonly Migration[] = MIGRATIONS): Promise<void> {
  const log = makeLog((line) => lines.push(line));
  const migrating = migratePostgres(
    { url: databaseUrl },
    { log, clock: systemClock, ledgerSql: LEDGER_SQL },
    steps,
  );
  // A failure is the test's, where it waits for the end.
  migrating.catch(() => undefined);
  return migrating;
}

/** As pg_dump does: one snapshot, and a lock on every table until the end. */
async function dumping(): Promise<Client> {
  const dump = await connected();
  await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const { rows } = await dump.query<{ name: string }>(
    `SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = current_schema()`,
  );
  await dump.query(`LOCK TABLE ${rows.map(({ name }) => name).join(', ')} IN ACCESS SHARE MODE`);
  await dump.query(`SELECT 'the dump'`);
  return dump;
}

async function indexes(...names: readonly string[]): Promise<unknown> {
  const { rows } = await observer.query<{ name: string; valid: boolean }>(
    `SELECT c.relname AS name, i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE c.relname = ANY ($1) ORDER BY 1`,
    [names],
  );
  return Object.fromEntries(rows.map(({ name, valid }) => [name, valid]));
}

/** The builds that wait for others, by the number of their session. */
async function waitingBuilds(): Promise<number[]> {
  const { rows } = await observer.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_progress_create_index WHERE phase LIKE 'waiting%' AND datname = current_database()`,
  );
  return rows.map(({ pid }) => pid);
}

/** What a later version adds, to the tables that every request uses. */
const LATER: readonly Migration[] = [
  ...MIGRATIONS,
  {
    number: MIGRATIONS.length + 1,
    name: 'later',
    compatibleFrom: 1,
    statements: () => [
      'ALTER TABLE account ADD COLUMN later BIGINT',
      'ALTER TABLE hold ADD COLUMN later BIGINT',
      'CREATE INDEX receipt_later ON receipt (account_id, charged)',
    ],
  },
];

test(
  'beside a dump a node of a later version waits, says for whom, and holds up no request of the others',
  async () => {
    // With the deadline of a server that nobody configured.
    const env = { TOLLGATE_DATABASE_DEADLINE_MS: '900' };
    const old = await Gateway.start({ databaseUrl, env });
    cleanUps.push(() => old.stop());
    const { token } = await old.account('5');
    const dump = await dumping();
    const migrating = migrate(LATER);
    const statuses: number[] = [];
    const ask = async () => statuses.push((await old.chat(token, { model: 'house-echo' })).status);
    await eventually('it says that it waits', async () => {
      await ask();
      return lines.length > 0;
    });
    for (let request = 0; request < 40; request++) await ask();
    expect([...new Set(statuses)]).toEqual([200]);
    const said = JSON.parse(lines[0] ?? '') as { held_by: { query: string }[] };
    expect(said).toMatchObject({
      event: 'schema_change_waits',
      reason: expect.stringMatching(/^step \d+ of the schema needs the tables .*account/) as string,
    });
    // A request that ran at that moment may stand beside it.
    expect(said.held_by.map(({ query }) => query)).toContain(`SELECT 'the dump'`);
    await dump.query('COMMIT');
    await migrating;
    expect(await indexes('receipt_later')).toEqual({ receipt_later: true });
    expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual(
      expect.objectContaining({
        event: 'schema_step_done',
        step: LATER.length,
        name: 'later',
        ms: expect.any(Number) as number,
        waited_ms: expect.any(Number) as number,
      }),
    );
    expect((await old.chat(token, { model: 'house-echo' })).status).toBe(200);
    await old.verify();
  },
  DEADLINE_MS,
);

test(
  'each step that a database with a history gets is a line of the log, and those of a new one are none',
  async () => {
    await migrate(MIGRATIONS.slice(0, -2));
    expect(stepsSaid()).toEqual([]);
    await migrate();
    expect(stepsSaid()).toEqual(MIGRATIONS.slice(-2).map(({ number }) => number));
  },
  DEADLINE_MS,
);

function stepsSaid(): unknown[] {
  return lines
    .map((line) => JSON.parse(line) as { event: string; step?: number })
    .filter(({ event }) => event === 'schema_step_done')
    .map(({ step }) => step);
}

test(
  'an index of a table in use is built while rows are written, and a killed build is made good',
  async () => {
    await migrate();
    const reader = await connected();
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM receipt');
    const killed = migrate(LATER);
    await eventually('the build waits for the reader', async () => (await waitingBuilds()).length > 0);
    await observer.query(`INSERT INTO setting (key, value, updated_at) VALUES ('k', 'v', 1)`);
    await observer.query('BEGIN; LOCK TABLE receipt IN ROW EXCLUSIVE MODE NOWAIT; COMMIT');
    for (const pid of await waitingBuilds()) await observer.query('SELECT pg_terminate_backend($1)', [pid]);
    await expect(killed).rejects.toThrow(/terminat/);
    expect(await indexes('receipt_later')).toEqual({ receipt_later: false });
    await reader.query('COMMIT');
    await migrate(LATER);
    expect(await indexes('receipt_later')).toEqual({ receipt_later: true });
    await migrate(LATER);
  },
  DEADLINE_MS,
);

test(
  'a server that was killed while it waited for its indexes is started again, and waits for the same build',
  async () => {
    await migrate(MIGRATIONS.slice(0, 18));
    const reader = await connected();
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM setting');
    const { node: first, starting } = NodeProcess.launch({ databaseUrl });
    cleanUps.push(() => first.stop());
    await eventually('its build waits', async () => (await waitingBuilds()).length > 0);
    await eventually('it says for whom', () => first.log.includes('schema_change_waits'));
    expect(first.log).toContain('count(*) FROM setting');
    const [build] = await waitingBuilds();
    await first.kill();
    await expect(starting).rejects.toThrow('did not start');
    const again = NodeProcess.start({ databaseUrl });
    await eventually('somebody else waits for the build', async () => (await schemaSessions()) > 1);
    expect(await waitingBuilds()).toEqual([build!]);
    await reader.query('COMMIT');
    const second = await again;
    cleanUps.push(() => second.stop());
    expect(await indexes('answer_bodies', 'answer_free')).toEqual({ answer_bodies: true, answer_free: true });
  },
  DEADLINE_MS,
);

async function schemaSessions(): Promise<number> {
  const { rows } = await observer.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'tollgate schema' AND datname = current_database()`,
  );
  return rows[0]?.n ?? 0;
}

test(
  'whatever step its connection breaks in, the next start ends with the same schema',
  async () => {
    const broken = (step: Migration): Migration => ({
      ...step,
      statements: (d) => [...step.statements(d), 'SELECT pg_terminate_backend(pg_backend_pid())'],
    });
    for (const [index, step] of MIGRATIONS.entries())
      await expect(migrate([...MIGRATIONS.slice(0, index), broken(step)])).rejects.toThrow();
    await migrate();
    const mended = await schemaOf(databaseUrl);
    const whole = await schemaOf(await (await testPostgres()).freshDatabase());
    expect(mended).toEqual(whole);
    expect(whole.length).toBeGreaterThan(200);
  },
  DEADLINE_MS,
);

/** Every column, index, constraint, trigger and view, in words. */
async function schemaOf(url: string): Promise<string[]> {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ one: string }>(
    `SELECT concat_ws(' ', 'column', table_name, ordinal_position, column_name, data_type, is_nullable, column_default) AS one
       FROM information_schema.columns WHERE table_schema = 'public'
     UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
     UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
       WHERE connamespace = 'public'::regnamespace
     UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
     UNION ALL SELECT concat_ws(' ', number, name, checksum) FROM schema_step
     UNION ALL SELECT concat_ws(' ', viewname, definition) FROM pg_views WHERE schemaname = 'public'
     UNION ALL SELECT concat('unfinished ', indexrelid::regclass) FROM pg_index WHERE NOT indisvalid ORDER BY 1`,
  );
  await client.end();
  return rows.map(({ one }) => one);
}
