/** What differs between the two databases, as data. Shared code asks for a capability, never for a database's name. */
export interface Dialect {
  readonly int64: string;
  readonly bytes: string;
  /** A primary key that counts up by itself. */
  readonly autoId: string;
  /** Triggers that refuse UPDATE and DELETE on a table. */
  appendOnly(table: string): readonly string[];
}

export const sqliteDialect: Dialect = {
  int64: 'INTEGER',
  bytes: 'BLOB',
  autoId: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  appendOnly: (table) =>
    ['UPDATE', 'DELETE'].map(
      (verb) => `CREATE TRIGGER ${table}_no_${verb.toLowerCase()} BEFORE ${verb} ON ${table}
        BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END`,
    ),
};

export const postgresDialect: Dialect = {
  int64: 'BIGINT',
  bytes: 'BYTEA',
  autoId: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  appendOnly: (table) => [
    `CREATE FUNCTION ${table}_refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION '${table} is append-only'; END $$`,
    `CREATE TRIGGER ${table}_append_only BEFORE UPDATE OR DELETE ON ${table}
      FOR EACH STATEMENT EXECUTE FUNCTION ${table}_refuse()`,
  ],
};
