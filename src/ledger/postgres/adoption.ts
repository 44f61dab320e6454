import { nowUsSql } from './admission-sql.ts';
import type { Statement } from './pool.ts';

/** In milliseconds, by the database's clock. */
const NOW = `(${nowUsSql('$1::bigint')}) / 1000`;

/** One of several who try it at once gets the row: the others see its new lease. */
export const ADOPT: Statement = {
  name: 'ledger_adopt',
  text: `UPDATE hold SET lease_until = ${NOW} + $2::bigint, node = $3
    WHERE id = $4 AND lease_until <= ${NOW} RETURNING id`,
};

export const GIVE_UP: Statement = {
  name: 'ledger_give_up',
  text: `UPDATE hold SET lease_until = ${NOW} WHERE id = ANY ($2::text[])`,
};
