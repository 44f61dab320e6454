import { OVERRUN_ACCOUNT } from './settlement.ts';
import type { Breach, Verification } from './port.ts';

/**
 * The invariants of the books as single statements that read each table once, in SQL that both databases understand.
 * Each returns the breaches it finds as `subject` and `detail`; `:now` is replaced by the moment of the check.
 */
export interface Check {
  readonly invariant: Breach['invariant'];
  readonly sql: string;
}

/** More breaches than this of one kind tell nothing new. */
const MOST = 100;
/** The sweeper needs a moment after a lease has run out. */
const GRACE_MS = 60_000;

export const CHECKS: readonly Check[] = [
  {
    invariant: 'I1',
    sql: `SELECT a.id AS subject, 'balance ' || a.balance || ', entries ' || COALESCE(e.total, 0) AS detail
      FROM account a LEFT JOIN (SELECT account_id, SUM(amount) AS total FROM entry GROUP BY account_id) e
        ON e.account_id = a.id
      WHERE a.balance <> COALESCE(e.total, 0) LIMIT ${MOST}`,
  },
  {
    invariant: 'I2',
    sql: `SELECT a.id AS subject, 'held ' || a.held || ' in ' || a.open_holds || ', pending requests '
        || COALESCE(r.total, 0) || ' in ' || COALESCE(r.number, 0) AS detail
      FROM account a LEFT JOIN
        (SELECT account_id, SUM(held) AS total, COUNT(*) AS number FROM request WHERE state = 'pending' GROUP BY account_id) r
        ON r.account_id = a.id
      WHERE a.held <> COALESCE(r.total, 0) OR a.open_holds <> COALESCE(r.number, 0) LIMIT ${MOST}`,
  },
  {
    invariant: 'I3',
    sql: `SELECT id AS subject, 'held ' || held || ', balance ' || balance AS detail FROM account
      WHERE held < 0 OR held > balance LIMIT ${MOST}`,
  },
  {
    invariant: 'I4',
    sql: `SELECT e.request_id AS subject, e.kind || ' of ' || e.amount || ' without a request that agrees' AS detail
      FROM entry e LEFT JOIN request r ON r.id = e.request_id
      WHERE e.kind IN ('charge', 'overrun') AND (r.id IS NULL
        OR (e.kind = 'charge' AND (r.account_id <> e.account_id OR r.charged <> -e.amount
          OR r.state NOT IN ('posted', 'expired')))
        OR (e.kind = 'overrun' AND (e.account_id <> '${OVERRUN_ACCOUNT}' OR r.overrun <> e.amount))) LIMIT ${MOST}`,
  },
  {
    invariant: 'I4',
    sql: `SELECT r.id AS subject, r.state || ' with a charge of ' || r.charged || ' and ' || COUNT(e.id) || ' entries' AS detail
      FROM request r LEFT JOIN entry e ON e.request_id = r.id AND e.kind = 'charge'
      WHERE r.state <> 'pending'
      GROUP BY r.id, r.state, r.charged
      HAVING COUNT(e.id) <> CASE WHEN r.state = 'void' THEN 0 ELSE 1 END OR (r.state = 'void' AND r.charged <> 0)
      LIMIT ${MOST}`,
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

const COUNTS = `SELECT (SELECT COUNT(*) FROM account) AS accounts, (SELECT COUNT(*) FROM entry) AS entries,
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
