import { dayOf } from '../std/calendar.ts';
import { requestIdAt, requestTime } from '../std/ids.ts';
import { STATE_CODES } from '../store/receipt-codes.ts';
import { BUDGET_HELD, BUDGET_USED } from './budget.ts';
import { OVERRUN_ACCOUNT } from './decide.ts';
import type { Breach, Verification } from './port.ts';
import { costSql } from './price.ts';
import { laterKey, lossKey, paymentKey, returnedKey, REVERSAL_STAGES, reversalKey } from './reclaim.ts';
import { extraChargeBreaches, HAS_EXTRA } from './verify-extra.ts';

/**
 * The invariants of the books as single statements that read each table once, in SQL that both databases understand.
 * Each returns the breaches it finds as `subject` and `detail`. `:now` is the moment of the check; `:fromId`, `:fromMs` and
 * `:fromDay` are where it begins to look at single receipts: at the first one, or, in a quick check, some days ago.
 */
export interface InvariantCheck {
  /** Where this is missing, each row names its invariant. */
  readonly invariant?: Breach['invariant'];
  readonly sql: string;
}

/**
 * I7: how old a hold may be. Deadlines are checked a few times a second and the request is closed then; where its node is
 * gone, its lease has to run out first. The margin is for a busy machine.
 */
export function oldestHoldMs(longestRequestMs = LONGEST_POSSIBLE_MS, leaseMs = 0): number {
  return longestRequestMs + leaseMs + GRACE_MS;
}

/** Four calls, each with an hour until its first byte and a day for the whole, are the most that a catalog allows. */
const LONGEST_POSSIBLE_MS = 4 * 25 * 3_600_000;

/** More breaches than this of one kind tell nothing new. */
const MOST = 100;
/** The sweeper needs a moment after a lease has run out. */
const GRACE_MS = 60_000;

/** How long a refund that is noted may wait until it is booked. */
const UNBOOKED_MS = 600_000;

const VOID = STATE_CODES.void;

const COST = costSql({
  input: 'r.input_tokens',
  cached: 'r.cached_tokens',
  output: 'r.output_tokens',
  images: 'r.images',
});

/** The most that a request may use, at the dearer price of its input. */
const CEILING = { input: 'h.input_ceiling', output: '(h.output_cap * h.choices)', images: 'h.choices' };
const CEILING_COST = {
  plain: costSql({ ...CEILING, cached: '0' }),
  cached: costSql({ ...CEILING, cached: CEILING.input }),
};

/** Without a limit SQLite takes the inner query apart, and computes the cost again wherever it is named. */
const COMPUTED_ONCE = `LIMIT ${2n ** 63n - 1n}`;

/** Amounts of accounts by the wallet that pays for them: a team's, or the account itself. */
function byWallet(amounts: string, owner: string, amount: string): string {
  return `SELECT COALESCE(m.wallet_id, m.id) AS wallet, SUM(s.${amount}) AS total FROM ${amounts} s
        JOIN account m ON m.id = s.${owner} GROUP BY COALESCE(m.wallet_id, m.id)`;
}

const BALANCE_BY_DAY_SUMS: InvariantCheck = {
  invariant: 'I1',
  sql: `SELECT a.id AS subject, 'balance ' || a.balance || ', entries ' || COALESCE(e.total, 0) || ', charges by day '
      || COALESCE(u.total, 0) AS detail
    FROM account a
      LEFT JOIN (SELECT account_id, SUM(amount) AS total FROM entry WHERE kind <> 'charge' GROUP BY account_id) e
        ON e.account_id = a.id
      LEFT JOIN (${byWallet('usage_day', 'account_id', 'charged')}) u ON u.wallet = a.id
    WHERE a.balance <> COALESCE(e.total, 0) - COALESCE(u.total, 0) LIMIT ${MOST}`,
};

/**
 * Sums over all receipts are computed once for both: grouping them is most of the work. An archived day has no costs
 * any more.
 */
const SUMS_OF_RECEIPTS: InvariantCheck = {
  sql: `WITH receipt_sums AS MATERIALIZED (SELECT account_id || '' AS owner, SUM(charged) AS charged, SUM(COALESCE(cost, 0)) AS cost,
      SUM(possible_cost) AS possible FROM receipt GROUP BY account_id || '')
    SELECT * FROM (SELECT 'I1' AS invariant, a.id AS subject, 'balance ' || a.balance || ', entries ' || COALESCE(e.total, 0)
        || ', receipts ' || COALESCE(r.total, 0) AS detail
      FROM account a
        LEFT JOIN (SELECT account_id, SUM(amount) AS total FROM entry GROUP BY account_id) e ON e.account_id = a.id
        LEFT JOIN (${byWallet('receipt_sums', 'owner', 'charged')}) r ON r.wallet = a.id
        LEFT JOIN (${byWallet('(SELECT account_id, charged FROM archived_day WHERE entry_id IS NULL)', 'account_id', 'charged')}) l
          ON l.wallet = a.id
      WHERE a.balance <> COALESCE(e.total, 0) - COALESCE(r.total, 0) - COALESCE(l.total, 0) LIMIT ${MOST}) AS balances
    UNION ALL SELECT * FROM (${dayCosts('receipt_sums', '', 'AND NOT EXISTS (SELECT 1 FROM archived_day d WHERE d.account_id = a.id)')}) AS costs`,
};

/**
 * A receipt is recent by its admission, but found by its id, which has the time of the node that made it. Where that
 * clock is behind, the receipt counts as booked late, and is found among those.
 */
const RECENT_DAY_SUMS: InvariantCheck = {
  invariant: 'I1',
  sql: `SELECT a.id AS subject, 'receipts ' || COALESCE(r.total, 0) || ', charges by day ' || COALESCE(u.total, 0)
      || ' since ' || :fromDay AS detail
    FROM account a
      LEFT JOIN (${receiptSums(`FROM (SELECT account_id, charged FROM receipt WHERE id >= :fromId AND created_at >= :fromMs
        UNION ALL SELECT account_id, charged FROM receipt
          WHERE late = 1 AND booked_at >= :fromMs AND created_at >= :fromMs AND id < :fromId) AS recent`)}) r ON r.owner = a.id
      LEFT JOIN (SELECT account_id, SUM(charged) AS total FROM usage_day WHERE account_id <> '' AND day >= :fromDay
        GROUP BY account_id) u ON u.account_id = a.id
      LEFT JOIN (SELECT account_id, SUM(charged) AS total FROM archived_day WHERE day >= :fromDay
        GROUP BY account_id) l ON l.account_id = a.id
    WHERE COALESCE(r.total, 0) + COALESCE(l.total, 0) <> COALESCE(u.total, 0) LIMIT ${MOST}`,
};

/**
 * What was archived must match the sums of its day and the charge that was booked for it. A day that is being archived
 * has no entry yet.
 */
const ARCHIVED_DAYS: InvariantCheck = {
  invariant: 'I1',
  sql: `SELECT account_id || ' ' || day AS subject, 'archived ' || charged || ' of ' || requests || ' requests, entry '
      || COALESCE(CAST(booked AS TEXT), 'missing') || ', by day ' || day_charged || ' of ' || day_requests AS detail
    FROM (SELECT a.account_id, a.day, a.charged, a.requests, e.amount AS booked,
        (SELECT COALESCE(SUM(u.charged), 0) FROM usage_day u WHERE u.account_id = a.account_id AND u.day = a.day) AS day_charged,
        (SELECT COALESCE(SUM(u.requests), 0) FROM usage_day u WHERE u.account_id = a.account_id AND u.day = a.day) AS day_requests
      FROM archived_day a JOIN account m ON m.id = a.account_id
        LEFT JOIN entry e ON e.id = a.entry_id AND e.kind = 'charge' AND e.account_id = COALESCE(m.wallet_id, m.id)
        AND e.once = 'archive:' || a.account_id || ':' || a.day
      WHERE a.entry_id IS NOT NULL) AS archived
    WHERE booked IS NULL OR booked <> -charged OR day_charged <> charged OR day_requests <> requests LIMIT ${MOST}`,
};

/** The recent receipts by admission, as {@link RECENT_DAY_SUMS} finds them. */
const RECENT_COSTS =
  costSums(`FROM (SELECT account_id, cost, possible_cost FROM receipt WHERE id >= :fromId AND created_at >= :fromMs
        UNION ALL SELECT account_id, cost, possible_cost FROM receipt
          WHERE late = 1 AND booked_at >= :fromMs AND created_at >= :fromMs AND id < :fromId) AS recent`);

const RECENT_DAY_COSTS: InvariantCheck = { sql: dayCosts(`(${RECENT_COSTS})`, 'AND day >= :fromDay', '') };

function dayCosts(receipts: string, days: string, accounts: string): string {
  return `SELECT 'I8' AS invariant, a.id AS subject, 'receipts cost ' || COALESCE(r.cost, 0) || ' and possibly '
        || COALESCE(r.possible, 0) || ', by day ' || COALESCE(u.cost, 0) || ' and possibly ' || COALESCE(u.possible, 0) AS detail
      FROM account a LEFT JOIN ${receipts} AS r ON r.owner = a.id
        LEFT JOIN (SELECT account_id, SUM(cost) AS cost, SUM(possible_cost) AS possible FROM usage_day
          WHERE account_id <> '' ${days} GROUP BY account_id) u ON u.account_id = a.id
      WHERE (COALESCE(r.cost, 0) <> COALESCE(u.cost, 0) OR COALESCE(r.possible, 0) <> COALESCE(u.possible, 0)) ${accounts}
      LIMIT ${MOST}`;
}

function costSums(from: string): string {
  return `SELECT account_id || '' AS owner, SUM(COALESCE(cost, 0)) AS cost, SUM(possible_cost) AS possible ${from}
    GROUP BY account_id || ''`;
}

/** The sums over all accounts and the sums by backend count the same requests. */
const SUMS_AGREE: InvariantCheck = {
  invariant: 'I8',
  sql: `SELECT 'day ' || day AS subject, 'the sums by model and by backend differ by ' || SUM(charged) || ' charged, '
      || SUM(cost) || ' cost, ' || SUM(possible_cost) || ' possible cost' AS detail
    FROM (SELECT day, charged, cost, possible_cost, costed FROM usage_day WHERE account_id = ''
      UNION ALL SELECT day, -charged, -cost, -possible_cost, -costed FROM backend_day) AS both_sums
    GROUP BY day HAVING SUM(charged) <> 0 OR SUM(cost) <> 0 OR SUM(possible_cost) <> 0 OR SUM(costed) <> 0 LIMIT ${MOST}`,
};

/** The sums over all accounts are those of the accounts, and what was booked from providers' bills. */
const COST_ENTRIES: InvariantCheck = {
  invariant: 'I8',
  sql: `SELECT 'day ' || day AS subject, 'the sums of all accounts, and of the accounts with what was booked later, differ by '
      || SUM(cost) || ' cost, ' || SUM(possible_cost) || ' possible cost' AS detail
    FROM (SELECT day, CASE WHEN account_id = '' THEN cost ELSE -cost END AS cost,
        CASE WHEN account_id = '' THEN possible_cost ELSE -possible_cost END AS possible_cost FROM usage_day
      UNION ALL SELECT day, -cost, -possible_cost FROM cost_entry) AS both_sums
    GROUP BY day HAVING SUM(cost) <> 0 OR SUM(possible_cost) <> 0 LIMIT ${MOST}`,
};

/** Grouping by an expression keeps SQLite from walking the account's index, which jumps between the rows. */
function receiptSums(from: string): string {
  return `SELECT account_id || '' AS owner, SUM(charged) AS total ${from} GROUP BY account_id || ''`;
}

/** A key with a column in place of the id. */
function keyed(key: string, column: string): string {
  return `'${key.replace('?', `' || ${column} || '`)}'`;
}

const PAID = keyed(paymentKey('?'), 'p.intent_id');
const TAKEN = keyed(reversalKey('?'), 'r.id');
const TAKEN_LATER = keyed(laterKey(reversalKey('?')), 'r.id');
const LOST = keyed(lossKey(reversalKey('?')), 'r.id');
const TAKEN_RETURNED = keyed(returnedKey(reversalKey('?')), 'r.id');
const LOST_RETURNED = keyed(returnedKey(lossKey(reversalKey('?'))), 'r.id');

/** A refund or dispute is owed by its payer, and by wallets to which the payer's money went; those are in the key. */
const DEBTS_BY_REVERSAL = `SELECT replace(once, ':' || account_id, '') AS once, SUM(owed) AS owed, SUM(returned) AS returned
            FROM debt GROUP BY replace(once, ':' || account_id, '')`;

/** The id in the key of a loss. */
function reversalOf(once: string): string {
  const around = [returnedKey(''), lossKey(''), reversalKey('')];
  return around.reduce((text, part) => `replace(${text}, '${part}', '')`, once);
}

/**
 * I9. A row says `paid`, `booked` or `returned` only after its entries were written, so a running payment breaks none
 * of these. What is not in these rows yet comes with the next event.
 */
function paymentChecks(most: number): readonly string[] {
  return [
    `SELECT p.id AS subject, 'paid ' || p.amount || ', credited ' || COALESCE(CAST(e.amount AS TEXT), 'nothing') AS detail
        FROM payment p LEFT JOIN entry e ON e.once = ${PAID} AND e.account_id = p.account_id AND e.kind = 'credit'
        WHERE p.state = 'paid' AND p.kind <> 'card' AND (e.amount IS NULL OR e.amount <> p.amount) LIMIT ${most}`,
    // The row follows the books: until it says that nothing is owed, more may have been taken or lost than it knows.
    `SELECT id AS subject, 'amount ' || amount || ', taken ' || taken || ', lost ' || lost || ', owed ' || owed || '; booked: taken '
          || took || ', lost ' || loss || ', owed ' || debt || ', returned ' || back AS detail
        FROM (SELECT r.id, r.amount, r.taken, r.lost, r.owed, r.returned_at, -COALESCE(t.amount, 0) - COALESCE(tl.amount, 0) AS took,
            COALESCE(l.amount, 0) AS loss, COALESCE(d.owed, 0) AS debt, COALESCE(d.returned, 0) AS debt_returned,
            COALESCE(tr.amount, 0) - COALESCE(lr.amount, 0) + COALESCE(d.returned, 0) AS back
          FROM payment_reversal r
            LEFT JOIN (${DEBTS_BY_REVERSAL}) d ON d.once = ${TAKEN}
            LEFT JOIN entry t ON t.once = ${TAKEN} AND t.account_id = r.account_id
            LEFT JOIN entry tl ON tl.once = ${TAKEN_LATER} AND tl.account_id = r.account_id
            LEFT JOIN entry l ON l.once = ${LOST} AND l.account_id = '${OVERRUN_ACCOUNT}'
            LEFT JOIN entry tr ON tr.once = ${TAKEN_RETURNED} AND tr.account_id = r.account_id
            LEFT JOIN entry lr ON lr.once = ${LOST_RETURNED} AND lr.account_id = '${OVERRUN_ACCOUNT}'
          WHERE r.booked_at IS NOT NULL) AS booked
        WHERE amount <> took + loss + debt + debt_returned OR taken > took OR lost > loss
          OR (owed = 0 AND (taken <> took OR lost <> loss OR debt <> 0)) OR (returned_at IS NOT NULL AND back <> amount)
        LIMIT ${most}`,
    // The row of a refund or dispute is there before anything is booked for it.
    `SELECT 'entry ' || e.id AS subject, 'a loss of ' || e.amount || ' that no refund or dispute explains' AS detail
        FROM entry e LEFT JOIN payment_reversal r ON r.id = ${reversalOf('e.once')}
        WHERE e.account_id = '${OVERRUN_ACCOUNT}' AND e.kind = 'adjustment' AND r.id IS NULL LIMIT ${most}`,
  ];
}

/** I11. What a budget's period has used is what the sums by day say, and what it holds is on hold. */
const BUDGETS: InvariantCheck = {
  invariant: 'I11',
  sql: `SELECT id AS subject, 'since ' || budget_from_day || ' used ' || budget_used || ' and holds ' || budget_held || ', by day '
      || used || ', holds ' || held AS detail
    FROM (SELECT a.id, a.budget_from_day, a.budget_used, a.budget_held,
        ${BUDGET_USED} AS used, ${BUDGET_HELD} AS held
      FROM account a WHERE a.budget IS NOT NULL) AS budgets
    WHERE budget_used <> used OR budget_held <> held LIMIT ${MOST}`,
};

/**
 * I12. Money that went back to its payer can be spent where an account does not know what it owes, or where a refund or
 * dispute of a paid payment was noted and nothing was booked for it. An event that fails is tried again within a minute.
 */
function refundedMoneyChecks(most: number): readonly string[] {
  return [
    `SELECT a.id AS subject, 'owes ' || a.owed || ', of refunds and disputes ' || COALESCE(d.total, 0) AS detail
        FROM account a LEFT JOIN (SELECT account_id, SUM(owed) AS total FROM debt WHERE owed > 0 GROUP BY account_id) d
          ON d.account_id = a.id
        WHERE a.owed <> COALESCE(d.total, 0) LIMIT ${most}`,
    `SELECT p.account_id AS subject, r.kind || ' ' || r.id || ' of ' || r.amount || ' is neither taken nor owed' AS detail
        FROM payment_reversal r JOIN payment p ON p.intent_id = r.intent_id AND p.state = 'paid'
        WHERE r.booked_at IS NULL AND r.stage < ${REVERSAL_STAGES.indexOf('returned')}
          AND r.created_at < :now - ${UNBOOKED_MS} LIMIT ${most}`,
  ];
}

/**
 * I13. Money that moved is an entry on each side. What comes back for a refund or dispute is no more than went that way
 * before, and all of it was taken from the payer.
 */
function movedMoneyChecks(most: number): readonly string[] {
  const prefix = `${reversalKey('')}%`;
  return [
    `SELECT 'move ' || m.id AS subject, 'of ' || m.amount || ', out ' || COALESCE(CAST(o.amount AS TEXT), 'nothing') || ', in '
          || COALESCE(CAST(i.amount AS TEXT), 'nothing') AS detail
        FROM wallet_move m LEFT JOIN entry o ON o.once = 'move:' || m.id || ':out' AND o.account_id = m.from_id
          LEFT JOIN entry i ON i.once = 'move:' || m.id || ':in' AND i.account_id = m.to_id
        WHERE o.amount IS NULL OR i.amount IS NULL OR o.amount <> -m.amount OR i.amount <> m.amount LIMIT ${most}`,
    `SELECT b.from_id || ' to ' || b.to_id AS subject, 'came back ' || b.total || ', had moved ' || COALESCE(w.total, 0) AS detail
        FROM (SELECT from_id, to_id, SUM(amount) AS total FROM wallet_move WHERE id LIKE '${prefix}' AND id NOT LIKE '%${returnedKey('')}'
            GROUP BY from_id, to_id) AS b
          LEFT JOIN (SELECT from_id, to_id, SUM(amount) AS total FROM wallet_move GROUP BY from_id, to_id) AS w
            ON w.from_id = b.to_id AND w.to_id = b.from_id
        WHERE b.total > COALESCE(w.total, 0) LIMIT ${most}`,
    `SELECT id AS subject, 'came back to the payer ' || total || ', taken ' || taken AS detail
        FROM (SELECT r.id, SUM(m.amount) AS total, -COALESCE(MAX(t.amount), 0) - COALESCE(MAX(tl.amount), 0) AS taken
          FROM payment_reversal r JOIN wallet_move m ON m.to_id = r.account_id AND m.id NOT LIKE '%${returnedKey('')}'
              AND substr(m.id, 1, length(${TAKEN}) + 1) = ${TAKEN} || ':'
            LEFT JOIN entry t ON t.once = ${TAKEN} AND t.account_id = r.account_id
            LEFT JOIN entry tl ON tl.once = ${TAKEN_LATER} AND tl.account_id = r.account_id
          GROUP BY r.id) AS collected
        WHERE total > taken LIMIT ${most}`,
  ];
}

/**
 * I10. A statement is about a month that is over, so nothing is booked into it any more. The charges of archived days
 * are in the sums of their day, and not counted twice.
 */
export function statementNumberCheck(): string {
  return `SELECT 'statements' AS subject, 'the highest number is ' || highest || ' of ' || number || ' statements' AS detail
    FROM (SELECT COUNT(*) AS number, COALESCE(MAX(number), 0) AS highest FROM statement) AS issued WHERE highest <> number`;
}

export function statementAmountCheck(most: number): string {
  return `SELECT 'statement ' || number AS subject, 'from ' || opening || ' to ' || closing || ', by the books from '
      || opened || ' to ' || closed AS detail
    FROM (SELECT s.number, s.opening, s.closing, ${balanceAt('s.starts_at', 's.month * 100')} AS opened,
      ${balanceAt('s.ends_at', 's.month * 100 + 99')} AS closed FROM statement s) AS again
    WHERE opening <> opened OR closing <> closed LIMIT ${most}`;
}

function balanceAt(moment: string, day: string): string {
  return `(SELECT COALESCE(SUM(e.amount), 0) FROM entry e
        WHERE e.account_id = s.account_id AND e.kind <> 'charge' AND e.created_at < ${moment})
      - (SELECT COALESCE(SUM(u.charged), 0) FROM usage_day u WHERE u.day < ${day}
        AND (u.account_id = s.account_id OR u.account_id IN (SELECT m.id FROM account m WHERE m.wallet_id = s.account_id)))`;
}

const COMMON: readonly InvariantCheck[] = [
  BALANCE_BY_DAY_SUMS,
  BUDGETS,
  SUMS_AGREE,
  ARCHIVED_DAYS,
  {
    invariant: 'I2',
    sql: `SELECT a.id AS subject, 'held ' || a.held || ' in ' || a.open_holds || ', of a team ' || a.team_held || ', holds '
        || COALESCE(w.total, 0) || ' in ' || COALESCE(h.number, 0) AS detail
      FROM account a LEFT JOIN (${byWallet('hold', 'account_id', 'held')}) w ON w.wallet = a.id
        LEFT JOIN (SELECT m.id, SUM(h.held) AS total, COUNT(*) AS number FROM hold h
          JOIN account m ON m.id = h.account_id OR m.id = (SELECT n.wallet_id FROM account n WHERE n.id = h.account_id)
          GROUP BY m.id) h ON h.id = a.id
      WHERE a.held <> COALESCE(w.total, 0) OR a.open_holds <> COALESCE(h.number, 0)
        OR a.team_held <> CASE WHEN a.wallet_id IS NULL THEN 0 ELSE COALESCE(h.total, 0) END LIMIT ${MOST}`,
  },
  {
    // Where the price has parts that SQL does not know, the charge is checked instead.
    invariant: 'I2',
    sql: `SELECT id AS subject, 'held ' || held || ', price × ceiling ' || COALESCE(CAST(most AS TEXT), 'unknown') AS detail
      FROM (SELECT h.id, h.held, CASE WHEN p.cached_input > p.input THEN ${CEILING_COST.cached} ELSE ${CEILING_COST.plain} END AS most
        FROM hold h LEFT JOIN price p ON p.id = h.price
        WHERE p.value IS NULL OR p.value NOT LIKE '%"extra":%' ${COMPUTED_ONCE}) AS again
      WHERE most IS NULL OR held <> most LIMIT ${MOST}`,
  },
  {
    invariant: 'I3',
    sql: `SELECT id AS subject, 'held ' || held || ', balance ' || balance || ', owed ' || owed AS detail FROM account
      WHERE held < 0 OR held > balance OR owed < 0 LIMIT ${MOST}`,
  },
  {
    invariant: 'I4',
    sql: `SELECT h.id AS subject, 'both a hold and a receipt' AS detail FROM hold h
      WHERE EXISTS (SELECT 1 FROM receipt r WHERE r.id = h.id) LIMIT ${MOST}`,
  },
  {
    invariant: 'I4',
    sql: `SELECT id AS subject, 'charged ' || charged || ' of a hold of ' || held || ', overrun ' || overrun
        || ', price × usage ' || COALESCE(CAST(cost AS TEXT), 'unknown') AS detail
      FROM (SELECT r.id, r.charged, r.held, r.overrun, CASE WHEN r.state = ${VOID} THEN 0 ELSE ${COST} END AS cost
        FROM receipt r LEFT JOIN price p ON p.id = r.price WHERE r.id >= :fromId AND NOT (${HAS_EXTRA}) ${COMPUTED_ONCE}) AS again
      WHERE cost IS NULL OR charged <> CASE WHEN cost < held THEN cost ELSE held END
        OR overrun > CASE WHEN cost < held THEN 0 ELSE cost - held END LIMIT ${MOST}`,
  },
  {
    invariant: 'I4',
    sql: `SELECT COALESCE(e.request_id, 'entry ' || e.id) AS subject, 'overrun of ' || e.amount || ' that its receipt does not know' AS detail
      FROM entry e LEFT JOIN receipt r ON r.id = e.request_id
      WHERE e.kind = 'overrun' AND (e.account_id <> '${OVERRUN_ACCOUNT}' OR r.overrun <> e.amount) LIMIT ${MOST}`,
  },
  {
    invariant: 'I4',
    sql: `SELECT 'archived requests' AS subject, 'overruns without a receipt ' || e.total || ', of archived days ' || a.total AS detail
      FROM (SELECT COALESCE(SUM(e.amount), 0) AS total FROM entry e LEFT JOIN receipt r ON r.id = e.request_id
          WHERE e.kind = 'overrun' AND r.id IS NULL) AS e,
        (SELECT COALESCE(SUM(overrun), 0) AS total FROM archived_day) AS a
      WHERE e.total <> a.total`,
  },
  {
    invariant: 'I4',
    sql: `SELECT r.id AS subject, 'overrun of ' || r.overrun || ' without an entry' AS detail FROM receipt r
      WHERE r.id >= :fromId AND r.overrun > 0
        AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.request_id = r.id AND e.kind = 'overrun') LIMIT ${MOST}`,
  },
  {
    invariant: 'I5',
    sql: `SELECT id AS subject, 'still held, lease until ' || lease_until AS detail FROM hold
      WHERE lease_until < :now - ${GRACE_MS} LIMIT ${MOST}`,
  },
  {
    // A hold that is renewed again and again by a node that never ends it.
    invariant: 'I7',
    sql: `SELECT id AS subject, 'held since ' || created_at || ', longer than its request may live' AS detail FROM hold
      WHERE created_at < :now - :oldest LIMIT ${MOST}`,
  },
  {
    // A receipt is its charge, and its key is unique: a second charge can only be an entry. Archived days have one each.
    invariant: 'I6',
    sql: `SELECT COALESCE(e.request_id, 'entry ' || e.id) AS subject, 'charge of ' || e.amount || ' beside its receipt' AS detail
      FROM entry e LEFT JOIN archived_day a ON a.entry_id = e.id WHERE e.kind = 'charge' AND a.entry_id IS NULL LIMIT ${MOST}`,
  },
  {
    invariant: 'I6',
    sql: `SELECT id AS subject, 'charged ' || charged || ' of a hold of ' || held AS detail FROM receipt
      WHERE id >= :fromId AND (charged > held OR charged < 0) LIMIT ${MOST}`,
  },
  ...paymentChecks(MOST).map((sql) => ({ invariant: 'I9' as const, sql })),
  { invariant: 'I10', sql: statementNumberCheck() },
  ...refundedMoneyChecks(MOST).map((sql) => ({ invariant: 'I12' as const, sql })),
  ...movedMoneyChecks(MOST).map((sql) => ({ invariant: 'I13' as const, sql })),
];

/** Older days by their sums, the latest ones receipt by receipt. */
export const QUICK_CHECKS: readonly InvariantCheck[] = [...COMMON, RECENT_DAY_SUMS, RECENT_DAY_COSTS];
/** Every receipt and every statement. */
export const FULL_CHECKS: readonly InvariantCheck[] = [
  ...COMMON,
  SUMS_OF_RECEIPTS,
  COST_ENTRIES,
  { invariant: 'I10', sql: statementAmountCheck(MOST) },
];

/** Closed requests are counted by their sums; counting millions of rows would take as long as checking them. */
export const COUNTS = `SELECT (SELECT COUNT(*) FROM account) AS accounts, (SELECT COUNT(*) FROM entry) AS entries,
  (SELECT COUNT(*) FROM hold) + (SELECT COALESCE(SUM(requests), 0) FROM usage_day WHERE account_id = '') AS requests`;

export const NEWEST_RECEIPT = 'SELECT MAX(id) AS id FROM receipt';

interface CheckedFrom {
  readonly fromId: string;
  readonly fromMs: number;
  readonly fromDay: number;
}

export const FROM_THE_FIRST: CheckedFrom = { fromId: '', fromMs: 0, fromDay: 0 };

const DAY_MS = 86_400_000;
const RECENT_DAYS = 2;
/**
 * A request gets its id on arrival and its day on admission, by another clock. Where the two differ by more than this,
 * finding its receipt only takes longer.
 */
const SLACK_MS = 3_600_000;

/**
 * The last whole days before the newest receipt. A receipt dated in the future, from a node whose clock is wrong, does
 * not count.
 */
export function recentDays(newestId: string | null, nowMs: number): CheckedFrom {
  const newest = newestId === null ? nowMs : Math.min(nowMs, requestTime(newestId));
  const fromMs = Math.max(0, (Math.floor(newest / DAY_MS) - RECENT_DAYS + 1) * DAY_MS);
  return { fromId: requestIdAt(Math.max(0, fromMs - SLACK_MS)), fromMs, fromDay: dayOf(fromMs) };
}

/** Runs every check through `query`; each sees the books at one moment. */
export async function verifyLedger(
  query: <R>(sql: string) => Promise<R[]>,
  nowMs: number,
  { full, oldestMs }: { readonly full: boolean; readonly oldestMs: number },
): Promise<Verification> {
  const [checked] = await query<Verification['checked']>(COUNTS);
  const [newest] = full ? [] : await query<{ id: string | null }>(NEWEST_RECEIPT);
  const from = full ? FROM_THE_FIRST : recentDays(newest?.id ?? null, nowMs);
  const breaches: Breach[] = await extraChargeBreaches(query, from.fromId);
  for (const { invariant, sql } of full ? FULL_CHECKS : QUICK_CHECKS) {
    const rows = await query<Breach>(withValues(sql, nowMs, { ...from, oldestMs }));
    for (const row of rows) breaches.push({ ...row, invariant: invariant ?? row.invariant });
  }
  return { checked: checked ?? { accounts: 0, entries: 0, requests: 0 }, breaches };
}

function withValues(
  sql: string,
  nowMs: number,
  { fromId, fromMs, fromDay, oldestMs }: CheckedFrom & { readonly oldestMs: number },
): string {
  return sql
    .replaceAll(':fromId', `'${fromId}'`)
    .replaceAll(':fromMs', String(fromMs))
    .replaceAll(':fromDay', String(fromDay))
    .replaceAll(':oldest', String(oldestMs))
    .replaceAll(':now', String(nowMs));
}
