import { monthOf, nowUs } from './0002-ledger-admit.ts';

/**
 * Closes a batch of holds: settlements, voids and expiries differ only in what they bring. Locks are always taken in
 * the same order (holds by id, the overrun account, accounts by id, sums by key), so that two batches never wait for
 * each other in a circle, and the contended ones last. Whoever comes second finds the hold closed and reports what the
 * first one did. Prices are multiplied as `numeric`: no product can overflow, and `div` rounds up exactly once.
 *
 * `q_` are the requests of the batch, each id once; `d_` are those of them that are still pending, in order of id.
 */
export const LEDGER_CLOSE = `
CREATE FUNCTION ledger_close(
  p_offset_us bigint, p_max_balance bigint, p_max_cost bigint, p_overrun_account text, p_overrun_ceiling bigint,
  q_id text[], q_state text[], q_failed boolean[], q_input bigint[], q_cached bigint[], q_output bigint[],
  q_reasoning bigint[], q_images bigint[], q_source text[], q_outcome text[], q_error text[], q_finish text[],
  q_upstream text[], q_attempts text[], q_first_byte_ms bigint[], q_duration_ms bigint[]
) RETURNS TABLE (id text, state text, charged bigint, held bigint, overrun bigint, available bigint, model text,
  excess bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := (${nowUs('p_offset_us')}) / 1000;
  v_month bigint := ${monthOf('v_now')};
  d_n bigint[]; d_account text[]; d_held bigint[]; d_cost bigint[]; d_overrun bigint[]; d_cause text[];
  v_booked bigint;
BEGIN
  PERFORM 1 FROM request r WHERE r.id = ANY (q_id) ORDER BY r.id FOR NO KEY UPDATE;
  SELECT array_agg(n ORDER BY r.id), array_agg(r.account_id ORDER BY r.id), array_agg(r.held ORDER BY r.id),
      array_agg(least(p_max_cost, CASE
        WHEN q_state[n] = 'void' THEN 0
        WHEN p.kind = 'images' THEN p.image * q_images[n]
        ELSE div((q_input[n] - q_cached[n]) * p.input + q_cached[n] * p."cachedInput" + q_output[n] * p.output + 999999,
          1000000) END)::bigint ORDER BY r.id),
      array_agg(r.endpoint || '/' || r.model ORDER BY r.id)
    INTO d_n, d_account, d_held, d_cost, d_cause
    FROM generate_subscripts(q_id, 1) AS n JOIN request r ON r.id = q_id[n],
      jsonb_to_record(r.price::jsonb)
        AS p (kind text, image numeric, input numeric, "cachedInput" numeric, output numeric)
    WHERE r.state = 'pending';

  IF d_n IS NOT NULL THEN
    d_overrun := array_fill(0::bigint, ARRAY[cardinality(d_n)]);
    IF EXISTS (SELECT FROM unnest(d_cost, d_held) AS d (cost, held) WHERE d.cost > d.held) THEN
      SELECT a.balance INTO STRICT v_booked FROM account a WHERE a.id = p_overrun_account FOR NO KEY UPDATE;
      FOR i IN 1 .. cardinality(d_n) LOOP
        d_overrun[i] := least(greatest(d_cost[i] - d_held[i], 0), greatest(p_overrun_ceiling - v_booked, 0));
        v_booked := v_booked + d_overrun[i];
      END LOOP;
      UPDATE account SET balance = v_booked WHERE id = p_overrun_account;
    END IF;

    UPDATE request r SET state = q_state[d.n], charged = least(d.cost, d.held), overrun = d.overrun, finished_at = v_now,
        first_byte_ms = q_first_byte_ms[d.n], duration_ms = q_duration_ms[d.n], input_tokens = q_input[d.n],
        cached_tokens = q_cached[d.n], output_tokens = q_output[d.n], reasoning_tokens = q_reasoning[d.n],
        images = q_images[d.n], usage_source = q_source[d.n], outcome = q_outcome[d.n], error_code = q_error[d.n],
        finish_reason = q_finish[d.n], upstream = q_upstream[d.n], attempts = q_attempts[d.n]
      FROM unnest(d_n, d_held, d_cost, d_overrun) AS d (n, held, cost, overrun)
      WHERE r.id = q_id[d.n];

    INSERT INTO entry (account_id, kind, amount, request_id, cause, actor, created_at)
      SELECT d.account, 'charge', - least(d.cost, d.held), q_id[d.n], d.cause, 'request', v_now
        FROM unnest(d_n, d_account, d_held, d_cost, d_cause) AS d (n, account, held, cost, cause)
        WHERE q_state[d.n] <> 'void'
      UNION ALL
      SELECT p_overrun_account, 'overrun', d.overrun, q_id[d.n], d.cause, 'request', v_now
        FROM unnest(d_n, d_held, d_cost, d_overrun, d_cause) AS d (n, held, cost, overrun, cause)
        WHERE d.cost > d.held;

    PERFORM 1 FROM account a WHERE a.id = ANY (d_account) ORDER BY a.id FOR NO KEY UPDATE;
    UPDATE account a SET balance = a.balance - d.charged, held = a.held - d.held, open_holds = a.open_holds - d.holds,
        month_spent = d.charged + CASE WHEN a.month >= v_month THEN a.month_spent ELSE 0 END,
        month = greatest(a.month, v_month)
      FROM (SELECT account, sum(least(cost, held))::bigint AS charged, sum(held)::bigint AS held, count(*) AS holds
        FROM unnest(d_account, d_held, d_cost) AS d (account, held, cost) GROUP BY account) d
      WHERE a.id = d.account;

    INSERT INTO usage_day AS u (account_id, day, endpoint, model, requests, failures, input_tokens, cached_tokens,
        output_tokens, reasoning_tokens, images, charged)
      SELECT coalesce(r.account_id, ''), r.day, r.endpoint, r.model, count(*), count(*) FILTER (WHERE q_failed[r.n]),
        sum(r.input_tokens)::bigint, sum(r.cached_tokens)::bigint, sum(r.output_tokens)::bigint,
        sum(r.reasoning_tokens)::bigint, sum(r.images)::bigint, sum(r.charged)::bigint
      FROM (SELECT d.n, r.*, to_char(to_timestamp(r.created_at / 1000.0) AT TIME ZONE 'UTC', 'YYYYMMDD')::bigint AS day
        FROM unnest(d_n) AS d (n) JOIN request r ON r.id = q_id[d.n]) r
      GROUP BY GROUPING SETS ((r.account_id, r.day, r.endpoint, r.model), (r.day, r.endpoint, r.model))
      ORDER BY 1, 2, 3, 4
      ON CONFLICT (account_id, day, endpoint, model) DO UPDATE SET
        requests = u.requests + excluded.requests, failures = u.failures + excluded.failures,
        input_tokens = u.input_tokens + excluded.input_tokens, cached_tokens = u.cached_tokens + excluded.cached_tokens,
        output_tokens = u.output_tokens + excluded.output_tokens,
        reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens, images = u.images + excluded.images,
        charged = u.charged + excluded.charged;
  END IF;

  RETURN QUERY
    SELECT r.id, r.state, r.charged, r.held, r.overrun, ${available('a', 'v_month', 'p_max_balance')}, r.model,
      coalesce(greatest(d.cost - d.held, 0), 0)
    FROM request r JOIN account a ON a.id = r.account_id
    LEFT JOIN unnest(d_n, d_held, d_cost) AS d (n, held, cost) ON q_id[d.n] = r.id
    WHERE r.id = ANY (q_id);
END $$`;

/** Closes holds whose lease ran out. One that is being renewed or closed at this moment is somebody's: it is skipped. */
export const LEDGER_EXPIRE = `
CREATE FUNCTION ledger_expire(
  p_offset_us bigint, p_max_balance bigint, p_max_cost bigint, p_overrun_account text, p_overrun_ceiling bigint,
  p_most bigint
) RETURNS TABLE (id text, state text, charged bigint, held bigint, overrun bigint, available bigint, model text,
  excess bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := (${nowUs('p_offset_us')}) / 1000;
BEGIN
  RETURN QUERY
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
      FROM overdue)
    SELECT closed.* FROM batch, ledger_close(p_offset_us, p_max_balance, p_max_cost, p_overrun_account,
      p_overrun_ceiling, ids, states, failed, input, cached, output, reasoning, images, sources, outcomes,
      '{}', '{}', '{}', '{}', '{}', durations) AS closed
    WHERE ids IS NOT NULL;
END $$`;

/** Longer leases for running requests, and how far their meters have come; a meter that makes no sense is not believed. */
export const LEDGER_RENEW = `
CREATE FUNCTION ledger_renew(
  p_offset_us bigint, p_lease_ms bigint, q_id text[], q_believed boolean[], q_input bigint[], q_cached bigint[],
  q_output bigint[], q_reasoning bigint[], q_images bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_until bigint := (${nowUs('p_offset_us')}) / 1000 + p_lease_ms;
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
END $$`;

/**
 * Writes holds again that a crash of the database lost while their requests ran on. They hold what they did, or as much
 * of it as the account has left by now: the rest of what they cost is then the operator's loss, and booked as such.
 */
export const LEDGER_RESTORE = `
CREATE FUNCTION ledger_restore(
  p_node text, p_lease_ms bigint, q_id text[], q_account text[], q_held bigint[], q_kind text[], q_endpoint text[],
  q_model text[], q_price text[], q_input bigint[], q_output bigint[], q_choices bigint[], q_stream bigint[],
  q_client text[], q_created bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
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
END $$`;

/**
 * Changes a balance from outside a request. Every entry comes with a key, so that a caller who lost the connection can
 * ask again. Nothing is posted when it would leave 0 ≤ held ≤ balance ≤ maximum; the caller says why.
 */
export const LEDGER_POST = `
CREATE FUNCTION ledger_post(
  p_offset_us bigint, p_max_balance bigint, p_account text, p_kind text, p_amount bigint, p_once text, p_cause text,
  p_actor text
) RETURNS TABLE (entry_id bigint, balance bigint, held bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  SELECT a.balance, a.held INTO balance, held FROM account a WHERE a.id = p_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT e.id INTO entry_id FROM entry e WHERE e.once = p_once;
  IF NOT FOUND AND balance + p_amount BETWEEN held AND p_max_balance THEN
    INSERT INTO entry (account_id, kind, amount, once, cause, actor, created_at)
      VALUES (p_account, p_kind, p_amount, p_once, p_cause, p_actor, (${nowUs('p_offset_us')}) / 1000)
      RETURNING id INTO entry_id;
    UPDATE account SET balance = balance + p_amount WHERE id = p_account RETURNING account.balance INTO balance;
  END IF;
  RETURN NEXT;
END $$`;

/** `availableOf` of src/ledger/decide.ts for a row of accounts. */
export function available(row: string, month: string, maxBalance: string): string {
  const spent = `CASE WHEN ${row}.month >= ${month} THEN ${row}.month_spent ELSE 0 END`;
  const monthLeft = `greatest(0, coalesce(${row}.monthly_limit, ${maxBalance}) - ${spent})`;
  return `greatest(least(${monthLeft}, ${row}.balance) - ${row}.held, 0)`;
}
