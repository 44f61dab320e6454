/** The differences between the two databases, as data. Shared code checks a capability, never a database's name. */
export interface Dialect {
  readonly int64: string;
  readonly bytes: string;
  /** An auto-incrementing primary key. */
  readonly autoId: string;
  /** Whether the database can run the ledger's decisions itself, as functions. */
  readonly storedFunctions: boolean;
  /** Whether an index can be built while others write to its table. */
  readonly concurrentIndexes: boolean;
  /** The column types of the sign-in library's timestamps and booleans. */
  readonly timestamp: string;
  readonly flag: string;
  /**
   * The type of a text column that compares byte by byte, whatever language the database was created for. A request id
   * contains its time in Base62, which sorts correctly only by bytes: "a" after "B".
   */
  readonly byteOrderedText: string;
  /** Whole numbers that need fewer bytes, where the database has such types. */
  readonly int32: string;
  readonly int16: string;
  /** Ends the definition of a table whose rows are kept in the order of the primary key, where that saves a second copy of it. */
  readonly clusteredByKey: string;
  /**
   * Ends a query for rows to delete: it skips rows that another transaction is changing, where deleting them would
   * have to wait.
   */
  readonly skipLocked: string;
  /** The text of a member of the JSON object in a text column. */
  jsonText(column: string, member: string): string;
  /** The same for a plain value in JSON with texts of customers in it: Postgres refuses to read one with \u0000 as JSON. */
  plainJsonText(column: string, member: string): string;
  /** For a small table whose rows come and go with every request: room for updates, and early removal of dead rows. */
  shortLivedRows(table: string): readonly string[];
  /** Leaves free space on each page for rows that every batch updates, so that an update stays on its page and touches no index. */
  roomToUpdate(table: string): readonly string[];
  /**
   * Replaces the index of what accounts have stored by one in the order of time, where writing a page for each account of a
   * transaction costs more than reading past other accounts' rows.
   */
  readonly storedByTime: readonly string[];
  /** Triggers that refuse UPDATE and DELETE on a table. */
  appendOnly(table: string): readonly string[];
  /**
   * Lets receipts be deleted while their row of `archived_day` is open, adds them up there, and keeps closed rows as
   * they are.
   */
  readonly archivedByDay: readonly string[];
}

export const sqliteDialect: Dialect = {
  int64: 'INTEGER',
  bytes: 'BLOB',
  autoId: 'INTEGER PRIMARY KEY',
  storedFunctions: false,
  concurrentIndexes: false,
  timestamp: 'TEXT',
  flag: 'INTEGER',
  byteOrderedText: 'TEXT',
  int32: 'INTEGER',
  int16: 'INTEGER',
  clusteredByKey: ' WITHOUT ROWID',
  skipLocked: '',
  jsonText: (column, member) => `json_extract(${column}, '$.${member}')`,
  plainJsonText: (column, member) => `json_extract(${column}, '$.${member}')`,
  shortLivedRows: () => [],
  roomToUpdate: () => [],
  storedByTime: [
    'DROP INDEX stored_response_account',
    'CREATE INDEX stored_response_time ON stored_response (id, account_id, created_at, bytes)',
  ],
  appendOnly: (table) =>
    ['UPDATE', 'DELETE'].map(
      (verb) => `CREATE TRIGGER ${table}_no_${verb.toLowerCase()} BEFORE ${verb} ON ${table}
        BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END`,
    ),
  archivedByDay: sqliteArchivedByDay(),
};

export const postgresDialect: Dialect = {
  int64: 'BIGINT',
  bytes: 'BYTEA',
  autoId: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  storedFunctions: true,
  concurrentIndexes: true,
  timestamp: 'TIMESTAMPTZ',
  flag: 'BOOLEAN',
  byteOrderedText: 'TEXT COLLATE "C"',
  int32: 'INTEGER',
  int16: 'SMALLINT',
  clusteredByKey: '',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  jsonText: (column, member) => `(${column}::json ->> '${member}')`,
  plainJsonText: (column, member) => `substring(${column} from '"${member}":"([^"\\\\]*)"')`,
  shortLivedRows: (table) => [
    `ALTER TABLE ${table} SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)`,
  ],
  roomToUpdate: (table) => [`ALTER TABLE ${table} SET (fillfactor = 50)`],
  storedByTime: [],
  appendOnly: (table) => [
    `CREATE FUNCTION ${table}_refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION '${table} is append-only'; END $$`,
    `CREATE TRIGGER ${table}_append_only BEFORE UPDATE OR DELETE ON ${table}
      FOR EACH STATEMENT EXECUTE FUNCTION ${table}_refuse()`,
  ],
  archivedByDay: postgresArchivedByDay(),
};

function sqliteArchivedByDay(): string[] {
  const day = `account_id = OLD.account_id
      AND day = CAST(strftime('%Y%m%d', OLD.created_at / 1000, 'unixepoch') AS INTEGER)`;
  return [
    `DROP TRIGGER receipt_no_delete`,
    `CREATE TRIGGER receipt_no_delete BEFORE DELETE ON receipt
      WHEN NOT EXISTS (SELECT 1 FROM archived_day WHERE ${day} AND entry_id IS NULL)
      BEGIN SELECT RAISE(ABORT, 'receipt is append-only'); END`,
    `CREATE TRIGGER receipt_archived AFTER DELETE ON receipt
      BEGIN UPDATE archived_day SET requests = requests + 1, charged = charged + OLD.charged, overrun = overrun + OLD.overrun
        WHERE ${day}; END`,
    `CREATE TRIGGER archived_day_closed BEFORE UPDATE ON archived_day WHEN OLD.entry_id IS NOT NULL
      BEGIN SELECT RAISE(ABORT, 'an archived day stays as it is'); END`,
    `CREATE TRIGGER archived_day_no_delete BEFORE DELETE ON archived_day
      BEGIN SELECT RAISE(ABORT, 'an archived day stays as it is'); END`,
  ];
}

function postgresArchivedByDay(): string[] {
  return [
    `DROP TRIGGER receipt_append_only ON receipt`,
    `CREATE TRIGGER receipt_append_only BEFORE UPDATE OR TRUNCATE ON receipt
      FOR EACH STATEMENT EXECUTE FUNCTION receipt_refuse()`,
    `CREATE FUNCTION receipt_archive() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE v_refused boolean;
      BEGIN
        WITH sums AS (
          SELECT account_id, to_char(to_timestamp(created_at / 1000.0) AT TIME ZONE 'UTC', 'YYYYMMDD')::bigint AS day,
            count(*) AS requests, sum(charged) AS charged, sum(overrun) AS overrun FROM gone GROUP BY 1, 2
        ), added AS (
          UPDATE archived_day a SET requests = a.requests + s.requests, charged = a.charged + s.charged,
            overrun = a.overrun + s.overrun
          FROM sums s WHERE a.account_id = s.account_id AND a.day = s.day AND a.entry_id IS NULL RETURNING 1
        )
        SELECT (SELECT count(*) FROM sums) > (SELECT count(*) FROM added) INTO v_refused;
        IF v_refused THEN RAISE EXCEPTION 'receipt is append-only'; END IF;
        RETURN NULL;
      END $$`,
    `CREATE TRIGGER receipt_archived AFTER DELETE ON receipt REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION receipt_archive()`,
    `CREATE FUNCTION archived_day_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'an archived day stays as it is'; END $$`,
    `CREATE TRIGGER archived_day_closed BEFORE UPDATE ON archived_day
      FOR EACH ROW WHEN (OLD.entry_id IS NOT NULL) EXECUTE FUNCTION archived_day_refuse()`,
    `CREATE TRIGGER archived_day_no_delete BEFORE DELETE OR TRUNCATE ON archived_day
      FOR EACH STATEMENT EXECUTE FUNCTION archived_day_refuse()`,
  ];
}
