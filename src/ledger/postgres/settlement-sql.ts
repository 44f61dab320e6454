import { storedFunction } from '../../store/stored-functions.ts';
import { monthSql, nowUsSql } from './admission-sql.ts';
import { LOOK_UP_BY_KEY } from './planner-settings.ts';

const PARAMETERS = `
  p_offset_us bigint, p_max_balance bigint, p_max_cost bigint, p_overrun_account text, p_overrun_ceiling bigint,
  q_id text[], q_state text[], q_failed boolean[], q_input bigint[], q_cached bigint[], q_output bigint[],
  q_reasoning bigint[], q_images bigint[], q_source text[], q_outcome text[], q_error text[], q_finish text[],
  q_upstream text[], q_attempts text[], q_first_byte_ms bigint[], q_duration_ms bigint[]`;

/**
 * Closes a batch of holds: settlements, voids and expiries differ only in what they bring. Locks are always taken in
 * the same order (holds by id, the overrun account, accounts by id, sums by key), so that two batches never wait for
 * each other in a circle, and the contended ones last. Whoever comes second finds the hold closed and reports what the
 * first one did. Prices are multiplied as `numeric`: no product can overflow, and `div` rounds up exactly once.
 *
 * `q_` are the requests of the batch, each id once, in the order of their ids. `d_` is what is found about each of them
 * if it is still pending, else NULL. `OFFSET 0` keeps the condition away from the look-up: an index of all pending holds
 * would fit it as well, and cost as much as there are.
 *
 * The result is a list of lists: id, state, charged, held, overrun, available, model, and what this call found used
 * beyond the hold, before it was booked.
 */
export const LEDGER_CLOSE_HOLDS = storedFunction(`
CREATE FUNCTION ledger_close_holds(${PARAMETERS}) RETURNS json LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := (${nowUsSql('p_offset_us')}) / 1000;
  v_month bigint := ${monthSql('v_now')};
  d_account text[]; d_held bigint[]; d_cost bigint[]; d_overrun bigint[]; d_endpoint text[]; d_model text[]; d_day bigint[];
  v_holds bigint; v_held bigint; v_charged bigint; v_beyond boolean; v_account text; v_last_account text;
  v_booked bigint; v_available bigint; v_closed json;
BEGIN
  SELECT array_agg(r.account_id), array_agg(r.held), array_agg(r.cost), array_agg(0), array_agg(r.endpoint),
      array_agg(r.model), array_agg(r.day), count(r.held), sum(r.held), sum(least(r.cost, r.held)),
      coalesce(bool_or(r.cost > r.held), false), min(r.account_id), max(r.account_id)
    INTO d_account, d_held, d_cost, d_overrun, d_endpoint, d_model, d_day, v_holds, v_held, v_charged, v_beyond, v_account,
      v_last_account
    FROM generate_subscripts(q_id, 1) AS n LEFT JOIN LATERAL (
      SELECT r.account_id, r.held, r.endpoint, r.model, ${dayOf('r.created_at')} AS day, least(p_max_cost, CASE
          WHEN q_state[n] = 'void' THEN 0
          WHEN p.kind = 'images' THEN p.image * q_images[n]
          ELSE div((q_input[n] - q_cached[n]) * p.input + q_cached[n] * p."cachedInput" + q_output[n] * p.output + 999999,
            1000000) END)::bigint AS cost
      FROM (SELECT * FROM request r WHERE r.id = q_id[n] FOR NO KEY UPDATE OFFSET 0) AS r,
        jsonb_to_record(r.price::jsonb)
          AS p (kind text, image numeric, input numeric, "cachedInput" numeric, output numeric)
      WHERE r.state = 'pending') AS r ON true;

  IF v_beyond THEN
    SELECT a.balance INTO STRICT v_booked FROM account a WHERE a.id = p_overrun_account FOR NO KEY UPDATE;
    FOR n IN 1 .. cardinality(q_id) LOOP
      CONTINUE WHEN d_held[n] IS NULL;
      d_overrun[n] := least(greatest(d_cost[n] - d_held[n], 0), greatest(p_overrun_ceiling - v_booked, 0));
      v_booked := v_booked + d_overrun[n];
    END LOOP;
    UPDATE account SET balance = v_booked WHERE id = p_overrun_account;
  END IF;

  IF v_holds > 0 THEN
    UPDATE request r SET state = q.state, charged = least(q.cost, q.held), overrun = q.overrun, finished_at = v_now,
        first_byte_ms = q.first_byte_ms, duration_ms = q.duration_ms, input_tokens = q.input, cached_tokens = q.cached,
        output_tokens = q.output, reasoning_tokens = q.reasoning, images = q.images, usage_source = q.source,
        outcome = q.outcome, error_code = q.error, finish_reason = q.finish, upstream = q.upstream, attempts = q.attempts
      FROM unnest(q_id, q_state, q_input, q_cached, q_output, q_reasoning, q_images, q_source, q_outcome, q_error, q_finish,
          q_upstream, q_attempts, q_first_byte_ms, q_duration_ms, d_held, d_cost, d_overrun)
        AS q (id, state, input, cached, output, reasoning, images, source, outcome, error, finish, upstream, attempts,
          first_byte_ms, duration_ms, held, cost, overrun)
      WHERE r.id = q.id AND q.held IS NOT NULL;

    INSERT INTO entry (account_id, kind, amount, request_id, cause, actor, created_at)
      SELECT q.account, 'charge', - least(q.cost, q.held), q.id, q.endpoint || '/' || q.model, 'request', v_now
        FROM unnest(q_id, q_state, d_account, d_held, d_cost, d_endpoint, d_model)
          AS q (id, state, account, held, cost, endpoint, model)
        WHERE q.held IS NOT NULL AND q.state <> 'void';
    IF v_beyond THEN
      INSERT INTO entry (account_id, kind, amount, request_id, cause, actor, created_at)
        SELECT p_overrun_account, 'overrun', q.overrun, q.id, q.endpoint || '/' || q.model, 'request', v_now
          FROM unnest(q_id, d_held, d_cost, d_overrun, d_endpoint, d_model) AS q (id, held, cost, overrun, endpoint, model)
          WHERE q.cost > q.held;
    END IF;

    IF v_account = v_last_account THEN
      UPDATE account a SET ${release('v_charged', 'v_held', 'v_holds')} WHERE a.id = v_account
        RETURNING ${available('a', 'v_month', 'p_max_balance')} INTO v_available;
    ELSE
      PERFORM 1 FROM account a WHERE a.id = ANY (d_account) ORDER BY a.id FOR NO KEY UPDATE;
      UPDATE account a SET ${release('q.charged', 'q.held', 'q.holds')}
        FROM (SELECT account, sum(least(cost, held))::bigint AS charged, sum(held)::bigint AS held, count(*) AS holds
          FROM unnest(d_account, d_held, d_cost) AS q (account, held, cost) WHERE held IS NOT NULL GROUP BY account) q
        WHERE a.id = q.account;
    END IF;

    INSERT INTO usage_day AS u (account_id, day, endpoint, model, requests, failures, input_tokens, cached_tokens,
        output_tokens, reasoning_tokens, images, charged)
      SELECT coalesce(q.account, ''), q.day, q.endpoint, q.model, count(*), count(*) FILTER (WHERE q.failed),
        sum(q.input)::bigint, sum(q.cached)::bigint, sum(q.output)::bigint, sum(q.reasoning)::bigint, sum(q.images)::bigint,
        sum(least(q.cost, q.held))::bigint
      FROM unnest(d_account, d_day, d_endpoint, d_model, q_failed, q_input, q_cached, q_output, q_reasoning, q_images, d_cost,
          d_held) AS q (account, day, endpoint, model, failed, input, cached, output, reasoning, images, cost, held)
      WHERE q.held IS NOT NULL
      GROUP BY GROUPING SETS ((q.account, q.day, q.endpoint, q.model), (q.day, q.endpoint, q.model))
      ORDER BY 1, 2, 3, 4
      ON CONFLICT (account_id, day, endpoint, model) DO UPDATE SET
        requests = u.requests + excluded.requests, failures = u.failures + excluded.failures,
        input_tokens = u.input_tokens + excluded.input_tokens, cached_tokens = u.cached_tokens + excluded.cached_tokens,
        output_tokens = u.output_tokens + excluded.output_tokens,
        reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens, images = u.images + excluded.images,
        charged = u.charged + excluded.charged;

    SELECT json_agg(json_build_array(q.id, q.state, least(q.cost, q.held), q.held, q.overrun, coalesce(v_available,
        (SELECT ${available('a', 'v_month', 'p_max_balance')} FROM account a WHERE a.id = q.account)), q.model,
        greatest(q.cost - q.held, 0)))
      INTO v_closed
      FROM unnest(q_id, q_state, d_account, d_held, d_cost, d_overrun, d_model)
        AS q (id, state, account, held, cost, overrun, model)
      WHERE q.held IS NOT NULL;
  END IF;

  IF v_holds < cardinality(q_id) THEN
    SELECT json_agg(one) INTO v_closed FROM (
      SELECT one FROM json_array_elements(v_closed) AS one
      UNION ALL
      SELECT json_build_array(r.id, r.state, r.charged, r.held, r.overrun,
          ${available('a', 'v_month', 'p_max_balance')}, r.model, 0)
        FROM unnest(q_id, d_held) AS q (id, held), request r, account a
        WHERE q.held IS NULL AND r.id = q.id AND a.id = r.account_id) AS every;
  END IF;
  RETURN coalesce(v_closed, '[]');
END $$`);

/**
 * Closes holds, and answers when that is safe on disk. The commit itself does not wait for the disk: all nodes wait for
 * each other's locks on the sums of the day, and would wait for each other's disk writes. A second, empty transaction
 * does; the log is written in order, so when its commit is on disk, the first one is. A procedure with settings of its own
 * could not commit, so it has none; what needs them is the function that it calls.
 */
export const LEDGER_CLOSE = storedFunction(`
CREATE PROCEDURE ledger_close(${PARAMETERS}, OUT closed json) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  closed := ${LEDGER_CLOSE_HOLDS.name}(${PARAMETERS.replaceAll(/ (text|bigint|boolean)(\[\])?/g, '')});
  COMMIT;
  PERFORM pg_logical_emit_message(true, 'tollgate', '');
END $$`);

/** Closes holds whose lease ran out. One that is being renewed or closed at this moment is somebody's: it is skipped. */
export const LEDGER_EXPIRE = storedFunction(`
CREATE FUNCTION ledger_expire(
  p_offset_us bigint, p_max_balance bigint, p_max_cost bigint, p_overrun_account text, p_overrun_ceiling bigint,
  p_most bigint
) RETURNS json LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := (${nowUsSql('p_offset_us')}) / 1000;
  v_closed json;
BEGIN
  WITH overdue AS MATERIALIZED (
    SELECT r.id, r.input_tokens, r.cached_tokens, r.output_tokens, r.reasoning_tokens, r.images, r.created_at,
      r.input_tokens + r.cached_tokens + r.output_tokens + r.reasoning_tokens + r.images > 0 AS delivered
    FROM request r WHERE r.state = 'pending' AND r.lease_until < v_now
    ORDER BY r.lease_until LIMIT p_most FOR NO KEY UPDATE SKIP LOCKED),
  batch AS (
    SELECT array_agg(id) AS ids, array_agg(CASE WHEN delivered THEN 'expired' ELSE 'void' END) AS states,
      array_agg(true) AS failed, array_agg(input_tokens) AS input, array_agg(cached_tokens) AS cached,
      array_agg(output_tokens) AS output, array_agg(reasoning_tokens) AS reasoning, array_agg(images) AS images,
      array_agg(CASE WHEN delivered THEN 'counted' END) AS sources, array_agg('expired'::text) AS outcomes,
      array_agg(greatest(0, v_now - created_at)) AS durations
    FROM (SELECT * FROM overdue ORDER BY id) AS ordered)
  SELECT ${LEDGER_CLOSE_HOLDS.name}(p_offset_us, p_max_balance, p_max_cost, p_overrun_account, p_overrun_ceiling, ids, states,
      failed, input, cached, output, reasoning, images, sources, outcomes, '{}', '{}', '{}', '{}', '{}', durations)
    INTO v_closed FROM batch WHERE ids IS NOT NULL;
  RETURN coalesce(v_closed, '[]');
END $$`);

/** Longer leases for running requests, and how far their meters have come; a meter that makes no sense is not believed. */
export const LEDGER_RENEW = storedFunction(`
CREATE FUNCTION ledger_renew(
  p_offset_us bigint, p_lease_ms bigint, q_id text[], q_believed boolean[], q_input bigint[], q_cached bigint[],
  q_output bigint[], q_reasoning bigint[], q_images bigint[]
) RETURNS void LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
DECLARE
  v_until bigint := (${nowUsSql('p_offset_us')}) / 1000 + p_lease_ms;
BEGIN
  PERFORM 1 FROM request r WHERE r.id = ANY (q_id) AND r.state = 'pending' ORDER BY r.id FOR NO KEY UPDATE;
  UPDATE request r SET lease_until = v_until,
      input_tokens = CASE WHEN q_believed[n] THEN q_input[n] ELSE r.input_tokens END,
      cached_tokens = CASE WHEN q_believed[n] THEN q_cached[n] ELSE r.cached_tokens END,
      output_tokens = CASE WHEN q_believed[n] THEN q_output[n] ELSE r.output_tokens END,
      reasoning_tokens = CASE WHEN q_believed[n] THEN q_reasoning[n] ELSE r.reasoning_tokens END,
      images = CASE WHEN q_believed[n] THEN q_images[n] ELSE r.images END
    FROM generate_subscripts(q_id, 1) AS n
    WHERE r.id = q_id[n] AND r.state = 'pending';
END $$`);

/**
 * Writes holds again that a crash of the database lost while their requests ran on. They hold what they did, or as much
 * of it as the account has left by now: the rest of what they cost is then the operator's loss, and booked as such.
 */
export const LEDGER_RESTORE = storedFunction(`
CREATE FUNCTION ledger_restore(
  p_node text, p_lease_ms bigint, q_id text[], q_account text[], q_held bigint[], q_kind text[], q_endpoint text[],
  q_model text[], q_price text[], q_input bigint[], q_output bigint[], q_choices bigint[], q_stream bigint[],
  q_client text[], q_created bigint[]
) RETURNS void LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
DECLARE
  v_held bigint; n bigint;
BEGIN
  FOR n IN SELECT place FROM unnest(q_account) WITH ORDINALITY AS q (account, place) ORDER BY account, place LOOP
    SELECT least(q_held[n], a.balance - a.held) INTO v_held FROM account a WHERE a.id = q_account[n] FOR NO KEY UPDATE;
    CONTINUE WHEN NOT FOUND;
    INSERT INTO request (id, account_id, state, held, node, lease_until, kind, endpoint, model, price, input_ceiling,
        output_cap, choices, stream, client, created_at)
      VALUES (q_id[n], q_account[n], 'pending', v_held, p_node, q_created[n] + p_lease_ms, q_kind[n], q_endpoint[n],
        q_model[n], q_price[n], q_input[n], q_output[n], q_choices[n], q_stream[n], q_client[n], q_created[n])
      ON CONFLICT DO NOTHING;
    CONTINUE WHEN NOT FOUND;
    UPDATE account SET held = held + v_held, open_holds = open_holds + 1 WHERE id = q_account[n];
  END LOOP;
END $$`);

/**
 * Changes a balance from outside a request. Every entry comes with a key, so that a caller who lost the connection can
 * ask again. Nothing is posted when it would leave 0 ≤ held ≤ balance ≤ maximum; the caller says why.
 */
export const LEDGER_POST = storedFunction(`
CREATE FUNCTION ledger_post(
  p_offset_us bigint, p_max_balance bigint, p_account text, p_kind text, p_amount bigint, p_once text, p_cause text,
  p_actor text
) RETURNS TABLE (entry_id bigint, balance bigint, held bigint) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
BEGIN
  SELECT a.balance, a.held INTO balance, held FROM account a WHERE a.id = p_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT e.id INTO entry_id FROM entry e WHERE e.once = p_once;
  IF NOT FOUND AND balance + p_amount BETWEEN held AND p_max_balance THEN
    INSERT INTO entry (account_id, kind, amount, once, cause, actor, created_at)
      VALUES (p_account, p_kind, p_amount, p_once, p_cause, p_actor, (${nowUsSql('p_offset_us')}) / 1000)
      RETURNING id INTO entry_id;
    UPDATE account SET balance = balance + p_amount WHERE id = p_account RETURNING account.balance INTO balance;
  END IF;
  RETURN NEXT;
END $$`);

/** `availableOf` of src/ledger/decide.ts for a row of accounts. */
function available(row: string, month: string, maxBalance: string): string {
  const spent = `CASE WHEN ${row}.month >= ${month} THEN ${row}.month_spent ELSE 0 END`;
  const monthLeft = `greatest(0, coalesce(${row}.monthly_limit, ${maxBalance}) - ${spent})`;
  return `greatest(least(${monthLeft}, ${row}.balance) - ${row}.held, 0)`;
}

/** What closing holds changes on their account `a`. */
function release(charged: string, held: string, holds: string): string {
  return `balance = a.balance - ${charged}, held = a.held - ${held}, open_holds = a.open_holds - ${holds},
        month_spent = ${charged} + CASE WHEN a.month >= v_month THEN a.month_spent ELSE 0 END,
        month = greatest(a.month, v_month)`;
}

/** UTC, yyyymmdd, as in src/std/calendar.ts. */
function dayOf(ms: string): string {
  return `to_char(to_timestamp(${ms} / 1000.0) AT TIME ZONE 'UTC', 'YYYYMMDD')::bigint`;
}
