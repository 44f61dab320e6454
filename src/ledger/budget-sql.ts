/** What the period of an account `a` has used and holds, as the sums by day and the holds tell; in SQL of both databases. */
export const BUDGET_USED = `(SELECT COALESCE(SUM(u.charged), 0) FROM usage_day u
    WHERE u.account_id = a.id AND u.day >= a.budget_from_day)`;
export const BUDGET_HELD = `(SELECT COALESCE(SUM(h.held), 0) FROM hold h
    WHERE h.account_id = a.id AND h.created_at >= a.budget_from)`;

export const BUDGET_SO_FAR = `budget_used = ${BUDGET_USED}, budget_held = ${BUDGET_HELD}`;
