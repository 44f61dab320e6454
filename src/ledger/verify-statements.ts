/**
 * I10, as single statements like all checks. A month that a statement is of is over, so nothing is booked into it any more.
 * The charges of archived days are in the sums of their day, and not taken twice.
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
      - (SELECT COALESCE(SUM(u.charged), 0) FROM usage_day u WHERE u.account_id = s.account_id AND u.day < ${day})`;
}
