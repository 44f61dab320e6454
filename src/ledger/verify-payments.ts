import { OVERRUN_ACCOUNT } from './decide.ts';
import { lossKey, paymentKey, returnedKey, reversalKey } from './reclaim.ts';

/** A key with a column in place of the id. */
function keyed(key: string, column: string): string {
  return `'${key.replace('?', `' || ${column} || '`)}'`;
}

const PAID = keyed(paymentKey('?'), 'p.intent_id');
const TAKEN = keyed(reversalKey('?'), 'r.id');
const LOST = keyed(lossKey(reversalKey('?')), 'r.id');
const TAKEN_RETURNED = keyed(returnedKey(reversalKey('?')), 'r.id');
const LOST_RETURNED = keyed(returnedKey(lossKey(reversalKey('?'))), 'r.id');

/** The id in the key of a loss. */
function reversalOf(once: string): string {
  const around = [returnedKey(''), lossKey(''), reversalKey('')];
  return around.reduce((text, part) => `replace(${text}, '${part}', '')`, once);
}

/**
 * I9, as single statements like all checks. A row says `paid`, `booked` or `returned` only after its entries were written, so none of these is broken in passing.
 * What is not in these rows yet comes with the next event.
 */
export function paymentChecks(most: number): readonly string[] {
  return [
    `SELECT p.id AS subject, 'paid ' || p.amount || ', credited ' || COALESCE(CAST(e.amount AS TEXT), 'nothing') AS detail
        FROM payment p LEFT JOIN entry e ON e.once = ${PAID} AND e.account_id = p.account_id AND e.kind = 'credit'
        WHERE p.state = 'paid' AND p.kind <> 'card' AND (e.amount IS NULL OR e.amount <> p.amount) LIMIT ${most}`,
    `SELECT id AS subject, 'amount ' || amount || ', taken ' || taken || ', lost ' || lost || '; booked: taken ' || took
          || ', lost ' || loss || ', returned ' || back AS detail
        FROM (SELECT r.id, r.amount, r.taken, r.lost, r.returned_at, -COALESCE(t.amount, 0) AS took,
            COALESCE(l.amount, 0) AS loss, COALESCE(tr.amount, 0) - COALESCE(lr.amount, 0) AS back
          FROM payment_reversal r
            LEFT JOIN entry t ON t.once = ${TAKEN} AND t.account_id = r.account_id
            LEFT JOIN entry l ON l.once = ${LOST} AND l.account_id = '${OVERRUN_ACCOUNT}'
            LEFT JOIN entry tr ON tr.once = ${TAKEN_RETURNED} AND tr.account_id = r.account_id
            LEFT JOIN entry lr ON lr.once = ${LOST_RETURNED} AND lr.account_id = '${OVERRUN_ACCOUNT}'
          WHERE r.booked_at IS NOT NULL) AS booked
        WHERE amount <> taken + lost OR taken <> took OR lost <> loss OR (returned_at IS NOT NULL AND back <> amount)
        LIMIT ${most}`,
    // The row of a refund or dispute is there before anything is booked for it.
    `SELECT 'entry ' || e.id AS subject, 'a loss of ' || e.amount || ' that no refund or dispute explains' AS detail
        FROM entry e LEFT JOIN payment_reversal r ON r.id = ${reversalOf('e.once')}
        WHERE e.account_id = '${OVERRUN_ACCOUNT}' AND e.kind = 'adjustment' AND r.id IS NULL LIMIT ${most}`,
  ];
}
