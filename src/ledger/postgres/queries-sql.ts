import { storedFunction } from '../../store/stored-functions.ts';
import { LOOK_UP_BY_KEY } from './planner-settings.ts';

/** In milliseconds, by the database's clock. */
export const NOW_MS = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`;

/**
 * Who is behind each of these, by their place. The account comes as JSON: a newer version may add a column to it while
 * this one runs, and a prepared statement whose columns change fails on every connection that has it.
 */
export const LEDGER_IDENTIFY = storedFunction(`
CREATE FUNCTION ledger_identify(c_hash text[], c_account text[])
RETURNS TABLE (place bigint, now_ms bigint, account json) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT c.place, ${NOW_MS}, to_json(a)
    FROM unnest(c_hash, c_account) WITH ORDINALITY AS c (hash, account, place)
    JOIN account a ON a.id = coalesce(c.account, (SELECT t.id FROM account t WHERE t.token_hash = c.hash));
END $$`);

/** Those of the holds that are there, with their accounts as above. */
export const LEDGER_LOOK_UP = storedFunction(`
CREATE FUNCTION ledger_look_up(q_id text[])
RETURNS TABLE (request_id text, hold bigint, output_cap integer, now_ms bigint, account json)
LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT r.id, r.held, r.output_cap, ${NOW_MS}, to_json(a)
    FROM hold r JOIN account a ON a.id = r.account_id
    WHERE r.id = ANY (q_id);
END $$`);
