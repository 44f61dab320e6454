import { Database } from 'bun:sqlite';
import type { Fault } from './faults.ts';

/** The books of the wrong gateway: a file that all its nodes share, written in transactions. Amounts are nano-dollars. */
export class Books {
  readonly #db: Database;
  readonly #node: string;
  /** What a node with a fault keeps to itself. */
  readonly #ownHolds = new Map<number, { readonly token: string; readonly amount: number }>();
  readonly #ownSent: { readonly token: string; readonly at: number }[] = [];

  constructor(file: string, node: string) {
    this.#db = new Database(file, { create: true, strict: true });
    this.#node = node;
    this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 10000; PRAGMA synchronous = NORMAL');
    this.#db.exec(`
      CREATE TABLE IF NOT EXISTS account (token TEXT PRIMARY KEY, balance INTEGER, per_minute INTEGER, faults TEXT);
      CREATE TABLE IF NOT EXISTS hold (id INTEGER PRIMARY KEY, token TEXT, node TEXT, amount INTEGER, used INTEGER, read INTEGER);
      CREATE TABLE IF NOT EXISTS sent (token TEXT, at INTEGER)`);
    this.#closeWhatDied();
  }

  open(balance: number, perMinute: number, faults: readonly Fault[]): string {
    const token = crypto.randomUUID();
    this.#db
      .query('INSERT INTO account VALUES (?, ?, ?, ?)')
      .run(token, balance, perMinute, JSON.stringify(faults));
    return token;
  }

  faults(token: string): ReadonlySet<Fault> | undefined {
    const row = this.#account(token);
    return row === null ? undefined : new Set(JSON.parse(row.faults) as Fault[]);
  }

  available(token: string): number {
    const held = this.#sum('SELECT total(amount) AS sum FROM hold WHERE token = ?', token);
    return (this.#account(token)?.balance ?? 0) - held;
  }

  debit(token: string, amount: number): void {
    this.#db.query('UPDATE account SET balance = balance - ? WHERE token = ?').run(amount, token);
  }

  /** A place among the requests of the last minute. */
  takeSlot(token: string, faults: ReadonlySet<Fault>): boolean {
    const limit = this.#account(token)?.per_minute ?? 0;
    const since = Date.now() - 60_000;
    if (faults.has('has no limits')) return true;
    if (faults.has('limits each node apart')) {
      const own = this.#ownSent.filter((one) => one.token === token && one.at > since).length;
      if (own < limit) this.#ownSent.push({ token, at: Date.now() });
      return own < limit;
    }
    return this.#atOnce(() => {
      const taken = this.#sum('SELECT count(*) AS sum FROM sent WHERE token = ? AND at > ?', token, since);
      if (taken < limit) this.#db.query('INSERT INTO sent VALUES (?, ?)').run(token, Date.now());
      return taken < limit;
    });
  }

  /** The number of the hold, or undefined where the money does not suffice. */
  hold(token: string, amount: number, faults: ReadonlySet<Fault>): number | undefined {
    return this.#atOnce(() => {
      const balance = this.#account(token)?.balance ?? 0;
      const isOwn = faults.has('holds on one node are unknown to the other');
      const mine = [...this.#ownHolds.values()].filter((one) => one.token === token);
      const free = isOwn ? balance - mine.reduce((sum, one) => sum + one.amount, 0) : this.available(token);
      if (free < Math.max(amount, 1)) return undefined;
      const row = this.#db
        .query<{ id: number }, [string, string, number, number]>(
          'INSERT INTO hold (token, node, amount, used, read) VALUES (?, ?, ?, 0, ?) RETURNING id',
        )
        .get(token, this.#node, isOwn ? 0 : amount, balance);
      if (row && isOwn) this.#ownHolds.set(row.id, { token, amount });
      return row?.id;
    });
  }

  /** How far a running request has come, for whoever finds its hold after a crash. */
  note(hold: number, used: number): void {
    this.#db.query('UPDATE hold SET used = ? WHERE id = ?').run(used, hold);
  }

  settle(hold: number, charge: number, faults: ReadonlySet<Fault>): void {
    this.#atOnce(() => {
      const row = this.#db
        .query<{ token: string; read: number }, [number]>(
          'DELETE FROM hold WHERE id = ? RETURNING token, read',
        )
        .get(hold);
      this.#ownHolds.delete(hold);
      if (row === null) return;
      if (faults.has('writes back the balance it has read'))
        this.#db.query('UPDATE account SET balance = ? WHERE token = ?').run(row.read - charge, row.token);
      else this.debit(row.token, charge);
    });
  }

  /** Requests of an earlier process of this node are charged for what they had used. */
  #closeWhatDied(): void {
    const rows = this.#db
      .query<{ id: number; token: string; used: number }, [string]>(
        'SELECT id, token, used FROM hold WHERE node = ?',
      )
      .all(this.#node);
    for (const { id, token, used } of rows) {
      const faults = this.faults(token) ?? new Set();
      if (!faults.has('leaks holds when killed')) this.settle(id, used, faults);
    }
  }

  #account(token: string) {
    return this.#db
      .query<{ balance: number; per_minute: number; faults: string }, [string]>(
        'SELECT * FROM account WHERE token = ?',
      )
      .get(token);
  }

  #sum(sql: string, ...values: (string | number)[]): number {
    return this.#db.query<{ sum: number }, (string | number)[]>(sql).get(...values)?.sum ?? 0;
  }

  #atOnce<T>(act: () => T): T {
    return this.#db.transaction(act).immediate();
  }
}
