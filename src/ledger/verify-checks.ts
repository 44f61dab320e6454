import { OVERRUN_ACCOUNT } from './decide.ts';
import type { Breach, Verification } from './port.ts';

/**
 * The invariants of the books as single statements that read each table once, in SQL that both databases understand.
 * Each returns the breaches it finds as `subject` and `detail`; `:now` is replaced by the moment of the check.
 */
export interface InvariantCheck {
  readonly invariant: Breach['invariant'];
  readonly sql: string;
}

/** More breaches than this of one kind tell nothing new. */
const MOST = 100;
/** The sweeper needs a moment after a lease has run out. */
const GRACE_MS = 60_000;

export const CHECKS: readonly InvariantCheck[] = [
  {
    invariant: 'I1',
    sql: `SELECT a.id AS subject, 'balance ' || a.balance || ', entries ' || COALESCE(e.total, 0) AS detail
      FROM account a LEFT JOIN (SELECT account_id, SUM(amount) AS total FROM entry GROUP BY account_id) e
        ON e.account_id = a.id
      WHERE a.balance <> COALESCE(e.total, 0) LIMIT ${MOST}`,
  },
  {
    invariant: 'I2',
    // Grouping by an expression keeps SQLite from walking all requests in account order; the few pending have an index.
    sql: `SELECT a.id AS subject, 'held ' || a.held || ' in ' || a.open_holds || ', pending requests '
        || COALESCE(r.total, 0) || ' in ' || COALESCE(r.number, 0) AS detail
      FROM account a LEFT JOIN (SELECT account_id || '' AS owner, SUM(held) AS total, COUNT(*) AS number
        FROM request WHERE state = 'pending' GROUP BY account_id || '') r ON r.owner = a.id
      WHERE a.held <> COALESCE(r.total, 0) OR a.open_holds <> COALESCE(r.number, 0) LIMIT ${MOST}`,
  },
  {
    invariant: 'I3',
    sql: `SELECT id AS subject, 'held ' || held || ', balance ' || balance AS detail FROM account
      WHERE held < 0 OR held > balance LIMIT ${MOST}`,
  },
  {
    invariant: 'I4',
    sql: `SELECT r.id AS subject, r.state || ', charged ' || r.charged || ', entry ' || COALESCE(CAST(e.amount AS TEXT), 'none') AS detail
      FROM request r LEFT JOIN entry e ON e.request_id = r.id AND e.kind = 'charge'
      WHERE ((r.state = 'pending' OR r.state = 'void') AND (e.id IS NOT NULL OR r.charged <> 0))
        OR ((r.state = 'posted' OR r.state = 'expired')
          AND (e.id IS NULL OR e.account_id <> r.account_id OR e.amount <> -r.charged)) LIMIT ${MOST}`,
  },
  {
    invariant: 'I4',
    // With the check above and I6, charges and charged requests pair up; only if their numbers differ is it worth looking for whom.
    sql: `SELECT COALESCE(e.request_id, 'entry ' || e.id) AS subject, 'charge of ' || e.amount || ' without a request' AS detail
      FROM entry e
      WHERE (SELECT COUNT(*) FROM entry WHERE kind = 'charge')
          <> (SELECT COUNT(*) FROM request WHERE state = 'posted' OR state = 'expired')
        AND e.kind = 'charge' AND NOT EXISTS (SELECT 1 FROM request r WHERE r.id = e.request_id) LIMIT ${MOST}`,
  },
  {
    invariant: 'I4',
    sql: `SELECT COALESCE(e.request_id, 'entry ' || e.id) AS subject, 'overrun of ' || e.amount || ' that its request does not know' AS detail
      FROM entry e LEFT JOIN request r ON r.id = e.request_id
      WHERE e.kind = 'overrun' AND (r.id IS NULL OR e.account_id <> '${OVERRUN_ACCOUNT}' OR r.overrun <> e.amount) LIMIT ${MOST}`,
  },
  {
    invariant: 'I4',
    sql: `SELECT r.id AS subject, 'overrun of ' || r.overrun || ' without an entry' AS detail FROM request r
      WHERE r.overrun > 0 AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.request_id = r.id AND e.kind = 'overrun') LIMIT ${MOST}`,
  },
  {
    invariant: 'I5',
    sql: `SELECT id AS subject, 'still pending, lease until ' || lease_until AS detail FROM request
      WHERE state = 'pending' AND lease_until < :now - ${GRACE_MS} LIMIT ${MOST}`,
  },
  {
    invariant: 'I6',
    sql: `SELECT request_id AS subject, COUNT(*) || ' charges' AS detail FROM entry
      WHERE kind = 'charge' AND request_id IS NOT NULL GROUP BY request_id HAVING COUNT(*) > 1 LIMIT ${MOST}`,
  },
  {
    invariant: 'I6',
    sql: `SELECT id AS subject, 'charged ' || charged || ' of a hold of ' || held AS detail FROM request
      WHERE charged > held OR charged < 0 LIMIT ${MOST}`,
  },
];

export const COUNTS = `SELECT (SELECT COUNT(*) FROM account) AS accounts, (SELECT COUNT(*) FROM entry) AS entries,
  (SELECT COUNT(*) FROM request) AS requests`;

/** Runs every check through `query`; each sees the books at one moment. */
export async function verifyBooks(
  query: <R>(sql: string) => Promise<R[]>,
  nowMs: number,
): Promise<Verification> {
  const [checked] = await query<Verification['checked']>(COUNTS);
  const breaches: Breach[] = [];
  for (const { invariant, sql } of CHECKS) {
    const rows = await query<Omit<Breach, 'invariant'>>(sql.replace(':now', String(nowMs)));
    for (const { subject, detail } of rows) breaches.push({ invariant, subject, detail });
  }
  return { checked: checked ?? { accounts: 0, entries: 0, requests: 0 }, breaches };
}
