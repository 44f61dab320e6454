import { storedFunction } from '../../store/stored-functions.ts';
import { asPlain, inArrays } from './batch.ts';
import { daySql, monthSql, nowUsSql, periodStartSql, LOOK_UP_BY_KEY } from './sql-fragments.ts';

const PARAMETERS = `
  p_node bigint, p_lease_ms bigint, p_offset_us bigint, p_max_balance bigint, p_output_floor bigint, p_share_parts bigint, p_max_count bigint, p_team_factor bigint,
  g_hash text[], g_account text[], g_images boolean[], g_per_minute bigint[], g_concurrent bigint[], g_last bigint[],
  g_total bigint[], g_needed bigint[], g_price_group text[], g_valid_until bigint[],
  s_lowerable boolean[], s_least_share bigint[], s_route bigint[], s_price bigint[], s_input_price bigint[],
  s_output_price bigint[], s_fixed_price bigint[], s_stream bigint[], s_client text[],
  q_id text[], q_group bigint[], q_shape bigint[], q_full bigint[], q_full_from bigint[], q_required bigint[], q_uncounted bigint[],
  q_input bigint[],
  q_output bigint[], q_choices bigint[], q_address text[]`;

const RESULTS = 'OUT accounts text, OUT wallets text, OUT group_results text, OUT request_results text';

const ACCOUNT_AND_TEAM = 'FROM account a LEFT JOIN account w ON w.id = a.wallet_id';

/** All groups of a team together, as rows of `q`. */
const TOGETHER: GroupSql = {
  of: (parameter) => parameter.replace('g_', 'q.'),
  count: 'q.count',
  row: 'w',
};

/** Numbers in the result of a group. */
const GROUP = 5;

const WHOLE_GROUP = 'ARRAY[place, free, per_minute, backlog, budget_before]';

/** What a row takes that is changed with others, as rows of `q`: an account's own group, or all of a team. */
const ROW: GroupSql = { of: (parameter) => parameter.replace('g_', 'q.'), count: 'q.count', row: 'a' };

/**
 * Accounts and their teams are changed by one statement: to begin it costs as much as several rows do. All that a team's accounts ask
 * for is taken at once where it is of one kind, with the same limits and prices, and fits; an account's further groups come after that.
 * What a team had before is told for each of its groups as if it were the first.
 */
const TAKE_FROM_TEAMS = `WITH asked AS MATERIALIZED (
        SELECT g AS place, a.id, a.wallet_id AS wallet, ${groupAt('g').count} AS count, g_total[g] AS total, g_needed[g] AS needed,
            g_images[g] AS images, g_per_minute[g] AS per_minute, g_concurrent[g] AS concurrent,
            g_price_group[g] AS price_group, g_valid_until[g] AS valid_until
          FROM generate_series(1, cardinality(g_last)) AS g JOIN account a ON a.id = g_id[g]
          WHERE g_early[g] AND array_position(g_id, g_id[g]) = g AND ${isStillTheirs(groupAt('g'))} AND ${fitsItself(groupAt('g'))}
            AND (a.wallet_id IS NOT NULL OR ${hasMoney(groupAt('g'))} AND ${isPriced(groupAt('g'))})),
      payer AS MATERIALIZED (
        SELECT q.*, ${whole(ofTeam(TOGETHER))} - w.held AS free FROM (
          SELECT wallet, sum(count)::bigint AS count, sum(total)::bigint AS total,
              (sum(total) + max(needed - total))::bigint AS needed, bool_or(images) AS images,
              min(per_minute) AS per_minute, min(concurrent) AS concurrent, min(price_group) AS price_group,
              min(valid_until) AS valid_until
            FROM asked WHERE wallet IS NOT NULL GROUP BY wallet
            HAVING bool_or(images) = bool_and(images) AND min(per_minute) = max(per_minute)
              AND min(concurrent) = max(concurrent) AND min(price_group) IS NOT DISTINCT FROM max(price_group)
              AND count(price_group) IN (0, count(*))) AS q
          JOIN account w ON w.id = q.wallet WHERE ${pays(TOGETHER)} AND ${isPriced(TOGETHER)}),
      taken AS (
        UPDATE account a SET ${take(ROW)} FROM (
            SELECT k.place, k.id, k.count, k.total, k.images, k.per_minute, g_hash[k.place] AS hash, p.free
              FROM asked k LEFT JOIN payer p ON p.wallet = k.wallet WHERE k.wallet IS NULL OR p.wallet IS NOT NULL
            UNION ALL
            SELECT NULL, p.wallet, p.count, p.total, p.images, p.per_minute * p_team_factor, NULL, NULL FROM payer p) AS q
          WHERE a.id = q.id RETURNING q.place, ${before(ROW, 'q.free')})
      SELECT array_agg(${WHOLE_GROUP} ORDER BY place) INTO v_whole_groups FROM taken WHERE place IS NOT NULL;`;

/**
 * The admission of a batch, in one call. It mirrors `decide` of src/ledger/decide.ts (the model test holds both against
 * each other); what does not depend on the account (the hold for the full cap, the least useful hold) and the constants
 * of the rule come in from there.
 *
 * Why it is shaped like this: on a busy account everybody waits for that account's row, so nothing is done under its
 * lock that can be done before or after.
 * - Before: writing a hold costs many times as much as deciding about it. So the accounts
 *   are looked at without a lock first; where all that a group asks for seems to fit, its holds are written at once.
 * - Then the accounts are locked, in the order of their ids so that two batches never wait for each other in a circle.
 *   The groups that still fit are admitted as a whole by one update: each limit only ever gets tighter from one request
 *   to the next, so when the last one fits all do. The others are decided request by request, and so are further groups of
 *   an account that the update has changed: it changes a row once. Where the first look was wrong, holds are taken back and the
 *   right ones written. Nobody sees any of it before the commit. A batch of one group does it all in fewer statements.
 * - After: the commit does not wait for the disk, since the lock would be kept meanwhile and a disk takes as long as a
 *   hundred decisions. What that can cost: a crash of the database (not of a node) loses the holds of the last moment,
 *   each as a whole, with what it took from the limits. No balance changes here, so none is lost; and the log is written
 *   in order, so a charge that was acknowledged never lacks its hold, nor does anything else that came after it. The
 *   node that runs such a request remembers the hold and writes it again when it comes to close it (`ledger_restore`).
 *
 * Names: `g_` groups of the batch (one caller, one kind of rate limit, one set of defaults, one price group, one end of its prices), `s_` shapes (what requests
 * of one model and client share), `q_` requests, ordered by group. Requests and results pass as arrays because a row
 * each way per request costs more than its decision.
 *
 * A group's result is five numbers: verdict (1 all admitted in full, 0 see its requests, -1 nobody), what was free
 * before it, limit per minute, backlog before it in microseconds, what was left of the budget before it, or -1. A request's result, if there is one, is nine: verdict,
 * held, output cap, available, limit per minute, backlog, whose (the budget's period from 1 to 4, and 8 more for a team),
 * what is left of the budget, or -1, and the clock. Verdicts: 0 admitted, 2 rate, 3 concurrency, 4 insufficient balance, 5 monthly limit,
 * 6 funds on hold, 7 request exceeds balance, 8 count the input first, 9 budget, 10 network, 11 model, 12 the team's rate, 13 another price group, or a price that has ended.
 *
 * Where a team pays, its row is locked after those of all accounts, and it takes all groups of its accounts together that fit, or decides
 * them one by one. So is decided whose token is limited to models or networks, and who is first in a period of a budget.
 */
export const LEDGER_ADMIT = storedFunction(`
CREATE FUNCTION ledger_admit(${PARAMETERS}, ${RESULTS}) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := ${nowUsSql('p_offset_us')};
  v_start bigint := v_now / 1000;
  v_month bigint := ${monthSql('v_start')};
  q_held bigint[] := q_full; q_cap bigint[] := q_output;
  g_id text[]; g_early boolean[]; g_wallet text[]; v_taken bigint[]; v_wallet account; v_wallet_id text;
  groups bigint[]; results bigint[]; v_budget_before bigint; g_from bigint[];
  v_id text; v_early boolean; v_account account; v_group bigint; v_shape bigint; v_whole_groups bigint[];
  v_early_count bigint := 0; v_admitted bigint := 0; v_as_written bigint := 0;
  v_held bigint; v_open bigint; v_month_left bigint; v_own bigint; v_whole bigint;
  v_first bigint; v_limit bigint; v_concurrent bigint; v_step bigint; v_burst bigint;
  v_arrival bigint; v_free bigint; v_hold bigint;
  v_team boolean; v_team_limit bigint; v_team_concurrent bigint; v_team_step bigint; v_team_burst bigint; v_team_arrival bigint;
  v_team_open bigint; v_from bigint; v_budget_left bigint; v_budget_used bigint; v_budget_held bigint; v_refusal bigint; v_money numeric; v_affordable bigint; v_verdict bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);

  IF cardinality(g_last) = 1 THEN
    IF g_hash[1] IS NULL THEN
      SELECT a.id, ${seemsToFit(groupAt('1'))}, a.wallet_id INTO v_id, v_early, v_wallet_id ${ACCOUNT_AND_TEAM}
        WHERE a.id = g_account[1];
    ELSE
      SELECT a.id, ${seemsToFit(groupAt('1'))}, a.wallet_id INTO v_id, v_early, v_wallet_id ${ACCOUNT_AND_TEAM}
        WHERE a.token_hash = g_hash[1];
    END IF;
    g_id := ARRAY[v_id];
    g_wallet := ARRAY[v_wallet_id];
    g_early := ARRAY[v_early];
  ELSE
    SELECT array_agg(a.id ORDER BY g), array_agg(${seemsToFit(groupAt('g'))} ORDER BY g), array_agg(a.wallet_id ORDER BY g)
      INTO g_id, g_early, g_wallet
      FROM generate_series(1, cardinality(g_last)) AS g
      LEFT JOIN account a ON a.id = coalesce(g_account[g], (SELECT t.id FROM account t WHERE t.token_hash = g_hash[g]))
      LEFT JOIN account w ON w.id = a.wallet_id;
  END IF;

  IF true = ANY (g_early) THEN
    ${insertHolds('g_early[q.group_number]', 'q_full', 'q_output')}
    GET DIAGNOSTICS v_early_count = ROW_COUNT;
  END IF;
  ${refuseIfOver('= ANY (q_id)')}
  groups := array_fill(-1::bigint, ARRAY[cardinality(g_last) * ${GROUP}]);

  IF cardinality(g_last) = 1 AND v_wallet_id IS NULL THEN
    IF v_early THEN
      UPDATE account a SET ${take(groupAt('1'))} WHERE a.id = v_id AND ${isStillTheirs(groupAt('1'))} AND ${fits(groupAt('1'))}
        RETURNING ${before(groupAt('1'))} INTO v_free, v_limit, v_arrival, v_budget_before;
      IF FOUND THEN
        groups := ARRAY[1, v_free, v_limit, v_arrival, v_budget_before];
        v_admitted := cardinality(q_id);
      END IF;
    END IF;
  ELSE
    PERFORM 1 FROM account a WHERE a.id = ANY (g_id || g_wallet) ORDER BY a.id FOR NO KEY UPDATE;
    IF array_remove(g_wallet, NULL) = '{}' THEN
      WITH taken AS (
        UPDATE account a SET ${take(groupAt('g.place'))} FROM unnest(g_id) WITH ORDINALITY AS g (id, place)
          WHERE a.id = g.id AND g_early[g.place] AND ${isStillTheirs(groupAt('g.place'))} AND ${fits(groupAt('g.place'))}
          RETURNING g.place, ${before(groupAt('g.place'))})
      SELECT array_agg(${WHOLE_GROUP}) INTO v_whole_groups FROM taken;
    ELSE
      ${TAKE_FROM_TEAMS}
      v_taken := array_fill(0::bigint, ARRAY[cardinality(g_last)]);
    END IF;
    FOR n IN 1 .. coalesce(array_length(v_whole_groups, 1), 0) LOOP
      v_group := v_whole_groups[n][1];
      v_free := v_whole_groups[n][2];
      IF g_wallet[v_group] IS NOT NULL THEN
        v_first := array_position(g_wallet, g_wallet[v_group]);
        v_free := least(v_free - v_taken[v_first], nullif(v_whole_groups[n][5], -1));
        v_taken[v_first] := v_taken[v_first] + g_total[v_group];
      END IF;
      groups[v_group * ${GROUP} - 4 : v_group * ${GROUP}] := ARRAY[1, v_free, v_whole_groups[n][3], v_whole_groups[n][4],
        v_whole_groups[n][5]];
      v_admitted := v_admitted + ${groupAt('v_group').count};
    END LOOP;
  END IF;
  v_as_written := v_admitted;

  FOR v_group IN 1 .. CASE WHEN v_admitted < cardinality(q_id) THEN cardinality(g_last) ELSE 0 END LOOP
    CONTINUE WHEN g_id[v_group] IS NULL OR groups[v_group * ${GROUP} - 4] = 1;
    v_first := coalesce(g_last[v_group - 1], 0) + 1;
    SELECT * INTO v_account FROM account a WHERE a.id = g_id[v_group] FOR NO KEY UPDATE;
    CONTINUE WHEN v_account.status IS DISTINCT FROM 'active' OR v_account.role = 'system' OR v_account.ended_at IS NOT NULL
      OR g_hash[v_group] IS NOT NULL AND (g_hash[v_group] IS DISTINCT FROM v_account.token_hash
        OR v_account.token_expires_at <= v_start);
    v_team := v_account.wallet_id IS NOT NULL;
    IF v_team THEN
      SELECT * INTO STRICT v_wallet FROM account a WHERE a.id = v_account.wallet_id FOR NO KEY UPDATE;
      CONTINUE WHEN v_wallet.status <> 'active' OR v_wallet.ended_at IS NOT NULL;
    ELSE
      v_wallet := v_account;
    END IF;
    v_now := ${nowUsSql('p_offset_us')};
    v_held := v_wallet.held;
    v_open := v_account.open_holds;
    v_month_left := greatest(0, coalesce(v_wallet.monthly_limit, p_max_balance)
      - CASE WHEN v_wallet.month >= v_month THEN v_wallet.month_spent ELSE 0 END);
    v_own := greatest(0, v_wallet.balance - v_wallet.owed);
    v_whole := least(v_month_left, v_own);
    v_budget_left := NULL;
    v_from := v_account.budget_from;
    v_budget_used := v_account.budget_used;
    v_budget_held := v_account.budget_held;
    IF v_account.budget IS NOT NULL THEN
      v_from := greatest(v_account.budget_from, ${periodStartSql('v_account.budget_per', 'v_start')});
      v_budget_used := CASE WHEN v_from > v_account.budget_from THEN 0 ELSE v_account.budget_used END;
      v_budget_left := greatest(0, v_account.budget - v_budget_used);
      v_budget_held := CASE WHEN v_from > v_account.budget_from THEN 0 ELSE v_account.budget_held END;
      -- Another request has begun a period since this call did: what is admitted now belongs to it, too.
      IF v_from > v_start THEN
        g_from[v_group] := v_from;
        IF g_early[v_group] THEN
          DELETE FROM hold WHERE id = ANY (q_id[v_first : g_last[v_group]]);
          v_early_count := v_early_count - (g_last[v_group] - v_first + 1);
          g_early[v_group] := false;
        END IF;
      END IF;
    END IF;
    v_concurrent := coalesce(v_account.concurrent, g_concurrent[v_group]);
    v_limit := coalesce(CASE WHEN g_images[v_group] THEN v_account.images_per_minute ELSE v_account.chat_per_minute END,
      g_per_minute[v_group]);
    v_step := (59999999 + v_limit) / v_limit;
    v_burst := v_step * v_limit;
    v_arrival := least(greatest(
      CASE WHEN g_images[v_group] THEN v_account.images_arrival_us ELSE v_account.chat_arrival_us END, v_now), v_now + v_burst);
    IF v_team THEN
      v_team_open := v_wallet.open_holds;
      v_team_concurrent := coalesce(v_wallet.concurrent, g_concurrent[v_group] * p_team_factor);
      v_team_limit := coalesce(CASE WHEN g_images[v_group] THEN v_wallet.images_per_minute ELSE v_wallet.chat_per_minute END,
        g_per_minute[v_group] * p_team_factor);
      v_team_step := (59999999 + v_team_limit) / v_team_limit;
      v_team_burst := v_team_step * v_team_limit;
      v_team_arrival := least(greatest(
        CASE WHEN g_images[v_group] THEN v_wallet.images_arrival_us ELSE v_wallet.chat_arrival_us END, v_now), v_now + v_team_burst);
    END IF;
    groups[v_group * ${GROUP} - 4] := 0;
    results := coalesce(results, array_fill(1::bigint, ARRAY[cardinality(q_id) * 9]));

    FOR n IN v_first .. g_last[v_group] LOOP
      v_free := greatest(v_whole - v_held, 0);
      IF v_budget_left IS NOT NULL THEN v_free := least(v_free, greatest(v_budget_left - v_budget_held, 0)); END IF;
      v_hold := q_full[n];
      v_refusal := 0;
      IF v_account.token_networks IS NOT NULL AND q_address[n] IS NOT NULL AND NOT EXISTS (
          SELECT 1 FROM unnest(string_to_array(v_account.token_networks, E'\\n')) AS allowed
          WHERE q_address[n]::inet <<= allowed::inet) THEN
        v_refusal := 10;
      ELSIF v_account.token_models IS NOT NULL AND NOT EXISTS (
          SELECT 1 FROM route o, unnest(string_to_array(v_account.token_models, E'\\n')) AS pattern
          WHERE o.id = s_route[q_shape[n]] AND o.endpoint || '/' || o.model LIKE ${likePattern('pattern')}) THEN
        v_refusal := 11;
      ELSIF v_wallet.price_group IS DISTINCT FROM g_price_group[v_group] OR v_start >= g_valid_until[v_group] THEN
        v_refusal := 13;
      END IF;
      v_verdict := CASE
        WHEN v_refusal > 0 THEN v_refusal
        WHEN v_arrival + v_step - v_now > v_burst THEN 2
        WHEN v_team AND v_team_arrival + v_team_step - v_now > v_team_burst THEN 12
        WHEN v_open >= v_concurrent OR v_team AND v_team_open >= v_team_concurrent THEN 3
        WHEN least(v_whole, v_budget_left) > 0 AND q_uncounted[n] > v_free THEN 8
        WHEN q_full_from[n] <= v_free THEN 0 END;
      IF v_verdict IS NULL THEN
        v_shape := q_shape[n];
        v_affordable := CASE WHEN s_lowerable[v_shape] THEN 0 ELSE -1 END;
        v_money := (v_free::numeric - s_fixed_price[v_shape]) * 1000000 - q_input[n]::numeric * s_input_price[v_shape];
        IF s_lowerable[v_shape] AND v_money >= 0 THEN
          v_affordable := CASE WHEN s_output_price[v_shape] = 0 THEN p_max_count
            ELSE least(div(v_money, s_output_price[v_shape]), p_max_count) END::bigint / q_choices[n];
        END IF;
        IF q_output[n] > 0 AND v_affordable >= least(p_output_floor, q_output[n]) THEN
          v_verdict := 0;
          q_cap[n] := least(v_affordable, greatest(s_least_share[v_shape], v_affordable / p_share_parts), q_output[n]);
          v_hold := div(q_input[n]::numeric * s_input_price[v_shape]
            + q_cap[n]::numeric * q_choices[n] * s_output_price[v_shape] + 999999, 1000000) + s_fixed_price[v_shape];
          q_held[n] := v_hold;
        ELSE
          v_verdict := CASE
            WHEN q_required[n] <= least(v_whole, v_budget_left) THEN 6
            WHEN v_budget_left < v_whole THEN 9
            WHEN v_month_left < v_own THEN 5
            WHEN v_whole = 0 THEN 4
            ELSE 7 END;
        END IF;
      END IF;
      IF v_verdict = 0 THEN
        v_arrival := v_arrival + v_step;
        v_held := v_held + v_hold;
        v_open := v_open + 1;
        v_free := v_free - v_hold;
        IF v_budget_left IS NOT NULL THEN v_budget_held := v_budget_held + v_hold; END IF;
        v_team_arrival := v_team_arrival + v_team_step;
        v_team_open := v_team_open + 1;
        IF g_early[v_group] AND q_cap[n] = q_output[n] THEN v_as_written := v_as_written + 1; END IF;
      END IF;
      results[n * 9 - 8] := v_verdict;
      results[n * 9 - 7] := v_hold;
      results[n * 9 - 6] := q_cap[n];
      results[n * 9 - 5] := v_free;
      results[n * 9 - 4] := CASE WHEN v_verdict = 12 THEN v_team_limit ELSE v_limit END;
      results[n * 9 - 3] := CASE WHEN v_verdict = 12 THEN v_team_arrival ELSE v_arrival END - v_now;
      results[n * 9 - 2] := CASE v_account.budget_per WHEN 'day' THEN 1 WHEN 'week' THEN 2 WHEN 'month' THEN 3 ELSE 4 END
        + CASE WHEN v_team THEN 8 ELSE 0 END;
      results[n * 9 - 1] := CASE WHEN v_budget_left IS NULL THEN -1 ELSE greatest(v_budget_left - v_budget_held, 0) END;
      results[n * 9] := v_start;
    END LOOP;
    CONTINUE WHEN v_open = v_account.open_holds;
    v_admitted := v_admitted + v_open - v_account.open_holds;
    UPDATE account SET held = CASE WHEN v_team THEN held ELSE v_held END, open_holds = v_open,
      team_held = CASE WHEN v_team THEN team_held + v_held - v_wallet.held ELSE team_held END,
      chat_arrival_us = CASE WHEN g_images[v_group] THEN chat_arrival_us ELSE v_arrival END,
      images_arrival_us = CASE WHEN g_images[v_group] THEN v_arrival ELSE images_arrival_us END,
      token_used_at = CASE WHEN g_hash[v_group] IS NULL THEN token_used_at ELSE v_now / 1000 END,
      budget_from = v_from, budget_held = v_budget_held, budget_used = v_budget_used,
      budget_from_day = CASE WHEN v_from > budget_from THEN ${daySql('v_from')} ELSE budget_from_day END
      WHERE id = v_account.id;
    IF v_team THEN
      UPDATE account SET held = v_held, open_holds = v_team_open,
        chat_arrival_us = CASE WHEN g_images[v_group] THEN chat_arrival_us ELSE v_team_arrival END,
        images_arrival_us = CASE WHEN g_images[v_group] THEN v_team_arrival ELSE images_arrival_us END
        WHERE id = v_wallet.id;
    END IF;
  END LOOP;

  IF v_as_written < v_early_count THEN
    DELETE FROM hold WHERE id = ANY (ARRAY(
      SELECT q_id[n] FROM generate_subscripts(q_id, 1) AS n
      WHERE g_early[q_group[n]] AND NOT (${isAdmitted('n')} AND q_cap[n] = q_output[n])));
  END IF;
  IF v_as_written < v_admitted THEN
    ${insertHolds(
      `${isAdmitted('q.place')} AND (g_early[q.group_number] AND q.cap = q_output[q.place]) IS NOT TRUE`,
      'q_held',
      'q_cap',
      'coalesce(g_from[q.group_number], v_start)',
    )}
  END IF;
  accounts := array_to_string(g_id, ',', '');
  wallets := array_to_string(g_wallet, ',', '');
  group_results := groups::text;
  request_results := results::text;
END $$`);

const ONE_REQUEST: GroupSql = { of: (parameter) => parameter, count: '1', row: 'a' };

/** The same for a row of `q`, which is the account or its team. */
const ONE_OF_BOTH: GroupSql = {
  of: (parameter) =>
    parameter === 'g_hash' || parameter === 'g_per_minute' ? parameter.replace('g_', 'q.') : parameter,
  count: '1',
  row: 'a',
};

/**
 * The same for a request that comes alone, as nearly all do where no node has more than some hundred in a second. Arrays of
 * one element cost three times as much as plain values. Where it does not fit in full, the function above decides. An account is
 * locked before its team, whose account it is never changes, and both are changed by one statement.
 */
export const LEDGER_ADMIT_ONE = storedFunction(`
CREATE FUNCTION ledger_admit_one(${asPlain(PARAMETERS)}, ${RESULTS}) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := ${nowUsSql('p_offset_us')};
  v_start bigint := v_now / 1000;
  v_month bigint := ${monthSql('v_start')};
  v_id text; v_free bigint; v_limit bigint; v_backlog bigint; v_budget_before bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  IF g_hash IS NULL THEN
    SELECT a.id, a.wallet_id INTO v_id, wallets FROM account a WHERE a.id = g_account;
  ELSE
    SELECT a.id, a.wallet_id INTO v_id, wallets FROM account a WHERE a.token_hash = g_hash;
  END IF;
  IF wallets IS NULL THEN
    UPDATE account a SET ${take(ONE_REQUEST)} WHERE a.id = v_id AND ${isStillTheirs(ONE_REQUEST)} AND ${fits(ONE_REQUEST)}
      RETURNING ${before(ONE_REQUEST)} INTO v_free, v_limit, v_backlog, v_budget_before;
  ELSE
    SELECT ${whole(ofTeam(ONE_REQUEST))} - w.held INTO v_free FROM account a JOIN account w ON w.id = wallets
      WHERE a.id = v_id AND ${isStillTheirs(ONE_REQUEST)} AND ${fitsItself(ONE_REQUEST)}
        AND ${pays(ofTeam(ONE_REQUEST))} AND ${isPriced(ofTeam(ONE_REQUEST))}
      FOR NO KEY UPDATE OF a, w;
    IF FOUND THEN
      WITH taken AS (
        UPDATE account a SET ${take(ONE_OF_BOTH)}
          FROM (VALUES (v_id, g_per_minute, g_hash), (wallets, g_per_minute * p_team_factor, NULL)) AS q (id, per_minute, hash)
          WHERE a.id = q.id RETURNING a.wallet_id, ${before(ONE_OF_BOTH, 'v_free')})
      SELECT least(free, nullif(budget_before, -1)), per_minute, backlog, budget_before
        INTO v_free, v_limit, v_backlog, v_budget_before FROM taken WHERE wallet_id IS NOT NULL;
    END IF;
  END IF;
  IF NOT FOUND THEN
    SELECT * INTO accounts, wallets, group_results, request_results FROM ${LEDGER_ADMIT.name}(${inArrays(PARAMETERS)});
    RETURN;
  END IF;
  INSERT INTO hold (id, account_id, held, lease_until, created_at, node, price, route, input_ceiling, output_cap, choices,
      stream, client)
    VALUES (q_id, v_id, q_full, v_start + p_lease_ms, v_start, p_node, s_price, s_route, q_input, q_output, q_choices,
      s_stream, s_client);
  ${refuseIfOver('= q_id')}
  accounts := v_id;
  group_results := ARRAY[1, v_free, v_limit, v_backlog, v_budget_before]::text;
END $$`);

/** How a statement names what belongs to a group, and one of the two rows that decide about it: the account `a` or its team `w`. */
interface GroupSql {
  of(parameter: string): string;
  /** The number of its requests. */
  readonly count: string;
  readonly row: 'a' | 'w';
}

function groupAt(g: string): GroupSql {
  const last = (place: string): string => `g_last[${place}]`;
  return {
    of: (parameter) => `${parameter}[${g}]`,
    count: `(${last(g)} - coalesce(${last(`${g} - 1`)}, 0))`,
    row: 'a',
  };
}

function ofTeam(g: GroupSql): GroupSql {
  return { ...g, row: 'w' };
}

/** Whether the whole group `g` fits on its account `a`, whoever pays. `decide` would admit each of its requests in full. */
function seemsToFit(g: GroupSql): string {
  return `(${fitsItself(g)} AND CASE WHEN a.wallet_id IS NULL THEN ${hasMoney(g)} AND ${isPriced(g)}
    ELSE ${pays(ofTeam(g))} AND ${isPriced(ofTeam(g))} END)`;
}

/** The same where no team pays. */
function fits(g: GroupSql): string {
  return `(a.wallet_id IS NULL AND ${fitsItself(g)} AND ${hasMoney(g)} AND ${isPriced(g)})`;
}

/** Whether the account `a` allows the group `g`, beside the money that it takes. */
function fitsItself(g: GroupSql): string {
  return `(a.status = 'active' AND a.role <> 'system' AND a.ended_at IS NULL AND a.token_models IS NULL
    AND a.token_networks IS NULL AND coalesce(a.token_expires_at > v_start, true)
    AND CASE WHEN a.budget IS NULL THEN true ELSE a.budget_from BETWEEN ${periodStartSql('a.budget_per', 'v_start')} AND v_start
      AND ${g.of('g_needed')} <= a.budget - a.budget_used - a.budget_held END
    AND ${hasRoom(g)})`;
}

/** Whether the team does, for whatever its account asks. */
function pays(g: GroupSql): string {
  return `(${g.row}.status = 'active' AND ${g.row}.ended_at IS NULL AND ${hasMoney(g)} AND ${hasRoom(g)})`;
}

function hasMoney(g: GroupSql): string {
  return `${g.of('g_needed')} <= ${whole(g)} - ${g.row}.held`;
}

function isPriced(g: GroupSql): string {
  return `(${g.row}.price_group IS NOT DISTINCT FROM ${g.of('g_price_group')} AND v_start < ${g.of('g_valid_until')})`;
}

function hasRoom(g: GroupSql): string {
  return `${g.row}.open_holds + ${g.count} <= coalesce(${g.row}.concurrent, ${usual(g, 'g_concurrent')})
    AND greatest(${arrival(g)} - v_now, 0) + ${g.count} * ${step(g)} <= ${step(g)} * ${perMinute(g)}`;
}

/** A token that was replaced since the first look finds no account. */
function isStillTheirs(g: GroupSql): string {
  return `(${g.of('g_hash')} IS NULL OR a.token_hash = ${g.of('g_hash')})`;
}

/** What the group `g` takes from its account `a`. */
function take(g: GroupSql): string {
  const total = g.of('g_total');
  return `${takeOf(g, `CASE WHEN a.wallet_id IS NULL THEN ${total} ELSE 0 END`)},
    team_held = a.team_held + CASE WHEN a.wallet_id IS NULL THEN 0 ELSE ${total} END,
    budget_held = a.budget_held + CASE WHEN a.budget IS NULL THEN 0 ELSE ${total} END,
    token_used_at = CASE WHEN ${g.of('g_hash')} IS NULL THEN a.token_used_at ELSE v_start END`;
}

/** What the group takes from the row that pays. */
function takeOf(g: GroupSql, held = g.of('g_total')): string {
  const next = (column: string): string => `greatest(${g.row}.${column}, v_now) + ${g.count} * ${step(g)}`;
  const arrives = (column: string, isIt: string): string =>
    `${column} = CASE WHEN ${isIt} THEN ${next(column)} ELSE ${g.row}.${column} END`;
  return `held = ${g.row}.held + ${held}, open_holds = ${g.row}.open_holds + ${g.count},
    ${arrives('chat_arrival_us', `NOT ${g.of('g_images')}`)}, ${arrives('images_arrival_us', g.of('g_images'))}`;
}

/**
 * What was free before the group `g` took its part of the account `a`, its limit, the backlog and the budget before it. `teamFree`: what the
 * team had before, if one pays; how much of that the budget allows is then still to be seen.
 */
function before(g: GroupSql, teamFree?: string): string {
  const budget = `a.budget - a.budget_used - a.budget_held + ${g.of('g_total')}`;
  const own = `least(${free(g)}, ${budget})`;
  return `${teamFree === undefined ? own : `CASE WHEN a.wallet_id IS NULL THEN ${own} ELSE ${teamFree} END`} AS free, ${perMinute(g)} AS per_minute,
    ${arrival(g)} - ${g.count} * ${step(g)} - v_now AS backlog, coalesce(${budget}, -1) AS budget_before`;
}

/** What was free before the group `g` took its part of the row that pays. */
function free(g: GroupSql): string {
  return `${whole(g)} - ${g.row}.held + ${g.of('g_total')}`;
}

function arrival(g: GroupSql): string {
  return `CASE WHEN ${g.of('g_images')} THEN ${g.row}.images_arrival_us ELSE ${g.row}.chat_arrival_us END`;
}

function whole({ row }: GroupSql): string {
  return `least(greatest(0, ${row}.balance - ${row}.owed), greatest(0, coalesce(${row}.monthly_limit, p_max_balance)
    - CASE WHEN ${row}.month >= v_month THEN ${row}.month_spent ELSE 0 END))`;
}

/** The time that one request of group `g` takes from the rate limit of the row. */
function step(g: GroupSql): string {
  return `((59999999 + ${perMinute(g)}) / ${perMinute(g)})`;
}

function perMinute(g: GroupSql): string {
  return `coalesce(CASE WHEN ${g.of('g_images')} THEN ${g.row}.images_per_minute ELSE ${g.row}.chat_per_minute END,
    ${usual(g, 'g_per_minute')})`;
}

/** A team without a limit of its own has that of several accounts. */
function usual(g: GroupSql, limit: string): string {
  return g.row === 'w' ? `${g.of(limit)} * p_team_factor` : g.of(limit);
}

function isAdmitted(n: string): string {
  return `(groups[q_group[${n}] * ${GROUP} - 4] = 1 OR groups[q_group[${n}] * ${GROUP} - 4] = 0 AND results[${n} * 9 - 8] = 0)`;
}

/** A hold whose request is over could never be closed, because there can be no second receipt. */
function refuseIfOver(ids: string): string {
  return `IF EXISTS (SELECT 1 FROM receipt r WHERE r.id ${ids}) THEN
    RAISE EXCEPTION 'a request of this id is over' USING ERRCODE = 'unique_violation';
  END IF;`;
}

/** Writes the holds of the requests that meet the condition. */
function insertHolds(condition: string, held: string, cap: string, admittedAt = 'v_start'): string {
  return `INSERT INTO hold (id, account_id, held, lease_until, created_at, node, price, route, input_ceiling, output_cap,
      choices, stream, client)
    SELECT q.id, g_id[q.group_number], q.held, v_start + p_lease_ms, ${admittedAt}, p_node, s_price[q.shape], s_route[q.shape],
      q.input, q.cap, q.choices, s_stream[q.shape], s_client[q.shape]
    FROM unnest(q_id, q_group, q_shape, ${held}, q_input, ${cap}, q_choices)
      WITH ORDINALITY AS q (id, group_number, shape, held, input, cap, choices, place)
    WHERE ${condition};`;
}

/** A pattern of models for LIKE: `*` stands for any characters, everything else for itself. */
function likePattern(pattern: string): string {
  const escaped = [
    ['\\', '\\\\'],
    ['%', '\\%'],
    ['_', '\\_'],
    ['*', '%'],
  ].reduce((text, [from, to]) => `replace(${text}, '${from}', '${to}')`, pattern);
  return escaped;
}
