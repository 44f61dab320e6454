/**
 * The admission of a batch, in one call and one transaction. It mirrors `decide` of src/ledger/decide.ts (the model test
 * holds both against each other); what does not depend on the account (the hold for the full cap, the least useful
 * hold) and the constants of the rule come in from there.
 *
 * Why it is shaped like this: on a busy account everybody waits for that account's row, so nothing is done under its
 * lock that can be done before, and writing a hold (a wide row, several indexes) costs several times as much as
 * deciding about it. So the callers are looked up without a lock first; where all that they ask for seems to fit, their
 * holds are written at once. Only then the accounts are locked, in the order of their ids so that two batches never wait
 * for each other in a circle. The token is compared again and the clock is read. A group whose last request still fits
 * is admitted as a whole: each limit only ever gets tighter from one request to the next, so the others fit, too. Any
 * other group is decided request by request. Each account is updated once. Where the first look was wrong, holds are
 * taken back and the right ones written. Nobody sees any of it before the commit.
 *
 * Names: `g_` groups of the batch (one caller, one kind of rate limit, one set of defaults), `s_` shapes (what requests
 * of one model and client share), `q_` requests, ordered by group. Requests and results pass as arrays because a row
 * each way per request costs more than its decision.
 *
 * A group's result is four numbers: verdict (1 all admitted in full, 0 see its requests, -1 nobody), what was free
 * before it, limit per minute, backlog before it in microseconds. A request's result, if there is one, is six: verdict,
 * held, output cap, available, limit per minute, backlog. Verdicts: 0 admitted, 2 rate, 3 concurrency, 4 insufficient
 * balance, 5 monthly limit, 6 funds on hold, 7 request exceeds balance.
 */
export const LEDGER_ADMIT = `
CREATE FUNCTION ledger_admit(
  p_node text, p_lease_ms bigint, p_offset_us bigint, p_max_balance bigint, p_output_floor bigint, p_max_count bigint,
  g_hash text[], g_account text[], g_images boolean[], g_per_minute bigint[], g_concurrent bigint[], g_last bigint[],
  g_total bigint[],
  s_lowerable boolean[], s_endpoint text[], s_model text[], s_price text[], s_input_price bigint[],
  s_output_price bigint[], s_stream bigint[], s_client text[],
  q_id text[], q_group bigint[], q_shape bigint[], q_full bigint[], q_required bigint[], q_input bigint[],
  q_output bigint[], q_choices bigint[]
) RETURNS TABLE (accounts text[], groups bigint[], results bigint[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := ${nowUs('p_offset_us')};
  v_start bigint := v_now / 1000;
  v_month bigint := ${monthOf('v_start')};
  v_rows bigint[]; v_admitted bigint := 0; v_as_written bigint := 0;
  q_held bigint[] := q_full; q_cap bigint[] := q_output;
  g_id text[]; g_early boolean[];
  v_account account; v_group bigint; v_shape bigint;
  v_held bigint; v_open bigint; v_chat bigint; v_images bigint; v_used bigint; v_month_left bigint; v_whole bigint;
  v_first bigint; v_count bigint; v_before bigint; v_limit bigint; v_concurrent bigint; v_step bigint; v_burst bigint;
  v_arrival bigint; v_free bigint; v_hold bigint; v_money numeric; v_affordable bigint; v_verdict bigint;
BEGIN
  SELECT array_agg(a.id ORDER BY g.place), array_agg(
      a.status = 'active' AND a.role <> 'system'
      AND g.total <= least(a.balance, coalesce(a.monthly_limit - a.month_spent, a.balance)) - a.held
      AND a.open_holds + g.count <= coalesce(a.concurrent, g.concurrent)
      AND greatest(CASE WHEN g.images THEN a.images_arrival_us ELSE a.chat_arrival_us END - v_now, 0)
        + g.count * 60000000 / coalesce(CASE WHEN g.images THEN a.images_per_minute ELSE a.chat_per_minute END, g.per_minute)
        < 60000000
      ORDER BY g.place)
    INTO g_id, g_early
    FROM (SELECT *, u.last - coalesce(g_last[u.place - 1], 0) AS count
      FROM unnest(g_hash, g_account, g_images, g_per_minute, g_concurrent, g_last, g_total)
        WITH ORDINALITY AS u (hash, account, images, per_minute, concurrent, last, total, place)) g
    LEFT JOIN account a ON a.id = coalesce(g.account, (SELECT t.id FROM account t WHERE t.token_hash = g.hash));

  v_rows := ARRAY(SELECT n FROM generate_series(1, cardinality(q_id)) AS n WHERE g_early[q_group[n]]);
  IF cardinality(v_rows) > 0 THEN
    ${insertHolds()}
  END IF;
  groups := array_fill(-1::bigint, ARRAY[cardinality(g_last) * 4]);

  FOR v_account IN SELECT * FROM account WHERE id = ANY (g_id) ORDER BY id FOR NO KEY UPDATE LOOP
    CONTINUE WHEN v_account.status <> 'active' OR v_account.role = 'system';
    v_now := ${nowUs('p_offset_us')};
    v_held := v_account.held;
    v_open := v_account.open_holds;
    v_chat := v_account.chat_arrival_us;
    v_images := v_account.images_arrival_us;
    v_used := v_account.token_used_at;
    v_month_left := greatest(0, coalesce(v_account.monthly_limit, p_max_balance)
      - CASE WHEN v_account.month >= v_month THEN v_account.month_spent ELSE 0 END);
    v_whole := least(v_month_left, v_account.balance);

    FOREACH v_group IN ARRAY array_positions(g_id, v_account.id) LOOP
      CONTINUE WHEN g_hash[v_group] IS NOT NULL AND g_hash[v_group] IS DISTINCT FROM v_account.token_hash;
      v_first := coalesce(g_last[v_group - 1], 0) + 1;
      v_count := g_last[v_group] - v_first + 1;
      v_before := v_open;
      v_concurrent := coalesce(v_account.concurrent, g_concurrent[v_group]);
      v_limit := coalesce(CASE WHEN g_images[v_group] THEN v_account.images_per_minute ELSE v_account.chat_per_minute END,
        g_per_minute[v_group]);
      v_step := (59999999 + v_limit) / v_limit;
      v_burst := v_step * v_limit;
      v_arrival := least(greatest(CASE WHEN g_images[v_group] THEN v_images ELSE v_chat END, v_now), v_now + v_burst);
      v_free := greatest(v_whole - v_held, 0);
      groups[v_group * 4 - 3] := 0;
      groups[v_group * 4 - 2] := v_free;
      groups[v_group * 4 - 1] := v_limit;
      groups[v_group * 4] := v_arrival - v_now;

      IF v_arrival + v_count * v_step - v_now <= v_burst AND v_open + v_count <= v_concurrent
          AND g_total[v_group] <= v_free THEN
        groups[v_group * 4 - 3] := 1;
        v_arrival := v_arrival + v_count * v_step;
        v_held := v_held + g_total[v_group];
        v_open := v_open + v_count;
        IF g_early[v_group] THEN v_as_written := v_as_written + v_count; END IF;
      ELSE
        results := coalesce(results, array_fill(1::bigint, ARRAY[cardinality(q_id) * 6]));
        FOR n IN v_first .. g_last[v_group] LOOP
          v_free := greatest(v_whole - v_held, 0);
          v_hold := q_full[n];
          v_verdict := CASE
            WHEN v_arrival + v_step - v_now > v_burst THEN 2
            WHEN v_open >= v_concurrent THEN 3
            WHEN v_hold <= v_free THEN 0 END;
          IF v_verdict IS NULL THEN
            v_shape := q_shape[n];
            v_affordable := CASE WHEN s_lowerable[v_shape] THEN 0 ELSE -1 END;
            v_money := v_free::numeric * 1000000 - q_input[n]::numeric * s_input_price[v_shape];
            IF s_lowerable[v_shape] AND v_money >= 0 THEN
              v_affordable := CASE WHEN s_output_price[v_shape] = 0 THEN p_max_count
                ELSE least(div(v_money, s_output_price[v_shape]), p_max_count) END::bigint / q_choices[n];
            END IF;
            IF v_affordable >= least(p_output_floor, q_output[n]) THEN
              v_verdict := 0;
              q_cap[n] := least(v_affordable, q_output[n]);
              v_hold := div(q_input[n]::numeric * s_input_price[v_shape]
                + q_cap[n]::numeric * q_choices[n] * s_output_price[v_shape] + 999999, 1000000);
              q_held[n] := v_hold;
            ELSE
              v_verdict := CASE
                WHEN q_required[n] <= v_whole THEN 6
                WHEN v_month_left < v_account.balance THEN 5
                WHEN v_whole = 0 THEN 4
                ELSE 7 END;
            END IF;
          END IF;
          IF v_verdict = 0 THEN
            v_arrival := v_arrival + v_step;
            v_held := v_held + v_hold;
            v_open := v_open + 1;
            v_free := v_free - v_hold;
            IF g_early[v_group] AND v_hold = q_full[n] THEN v_as_written := v_as_written + 1; END IF;
          END IF;
          results[n * 6 - 5] := v_verdict;
          results[n * 6 - 4] := v_hold;
          results[n * 6 - 3] := q_cap[n];
          results[n * 6 - 2] := v_free;
          results[n * 6 - 1] := v_limit;
          results[n * 6] := v_arrival - v_now;
        END LOOP;
      END IF;
      CONTINUE WHEN v_open = v_before;
      v_admitted := v_admitted + v_open - v_before;
      IF g_images[v_group] THEN v_images := v_arrival; ELSE v_chat := v_arrival; END IF;
      IF g_hash[v_group] IS NOT NULL THEN v_used := v_now / 1000; END IF;
    END LOOP;
    IF v_open > v_account.open_holds THEN
      UPDATE account SET held = v_held, open_holds = v_open, chat_arrival_us = v_chat, images_arrival_us = v_images,
        token_used_at = v_used WHERE id = v_account.id;
    END IF;
  END LOOP;

  IF v_as_written < cardinality(v_rows) THEN
    DELETE FROM request WHERE id = ANY (ARRAY(
      SELECT q_id[n] FROM unnest(v_rows) AS n WHERE NOT (${isAdmitted()} AND q_held[n] = q_full[n])));
  END IF;
  IF v_as_written < v_admitted THEN
    v_rows := ARRAY(SELECT n FROM generate_series(1, cardinality(q_id)) AS n
      WHERE ${isAdmitted()} AND NOT (g_early[q_group[n]] AND q_held[n] = q_full[n]));
    ${insertHolds()}
  END IF;
  accounts := g_id;
  RETURN NEXT;
END $$`;

function isAdmitted(): string {
  return `(groups[q_group[n] * 4 - 3] = 1 OR groups[q_group[n] * 4 - 3] = 0 AND results[n * 6 - 5] = 0)`;
}

/** Writes the holds whose places in the batch are in `v_rows`. */
function insertHolds(): string {
  return `INSERT INTO request (id, account_id, state, held, node, lease_until, kind, endpoint, model, price,
      input_ceiling, output_cap, choices, stream, client, created_at)
    SELECT q_id[n], g_id[q_group[n]], 'pending', q_held[n], p_node, v_start + p_lease_ms,
      CASE WHEN g_images[q_group[n]] THEN 'images' ELSE 'chat' END, s_endpoint[q_shape[n]], s_model[q_shape[n]],
      s_price[q_shape[n]], q_input[n], q_cap[n], q_choices[n], s_stream[q_shape[n]], s_client[q_shape[n]], v_start
    FROM unnest(v_rows) AS n;`;
}

/** The database's clock, the only one that all nodes share. The offset is for tests. */
export function nowUs(offset: string): string {
  return `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint + ${offset}`;
}

/** UTC, yyyymm, as in src/std/calendar.ts. */
export function monthOf(ms: string): string {
  return `to_char(to_timestamp((${ms}) / 1000.0) AT TIME ZONE 'UTC', 'YYYYMM')::bigint`;
}
