import {
  DURATION_BOUNDS_MS,
  DURATION_COLUMNS,
  OUTCOME_CODES,
  SOURCE_CODES,
  STATE_CODES,
} from '../../store/receipt-codes.ts';
import { storedFunction } from '../../store/stored-functions.ts';
import { REMOVED_DOMAIN } from '../decide.ts';
import { isAdoptable } from '../lease.ts';
import { costSql, isDeliveredSql } from '../price.ts';
import { asPlain, inArrays } from './batch.ts';
import { daySql, monthSql, nowUsSql, periodStartSql } from './sql-fragments.ts';
import { LOOK_UP_BY_KEY, LOOK_UP_BY_KEY_IN_TRANSACTION } from './sql-fragments.ts';
import { LEDGER_NUMBERS } from './numbers.ts';

const PARAMETERS = `
  p_offset_us bigint, p_max_balance bigint, p_overrun_account text, p_overrun_ceiling bigint, p_prompt_ms bigint,
  p_within boolean, q_id text[], q_arrived bigint[], q_state bigint[], q_failed boolean[], q_input bigint[], q_cached bigint[],
  q_output bigint[], q_reasoning bigint[], q_images bigint[], q_source bigint[], q_outcome bigint[], q_backend bigint[],
  q_first_byte_ms bigint[], q_duration_ms bigint[], q_detail text[], q_extra text[], q_owed bigint[], q_saved bigint[],
  q_spent bigint[], q_possible bigint[]`;

/** What other backends may take for failed attempts of these requests. */
const LOST_PARAMETERS = 'l_place bigint[], l_backend text[], l_amount bigint[]';

const RESULTS = `
  places text, held text, costs text, overruns text, available text, models text,
  earlier text, earlier_states text, earlier_charged text, earlier_held text, earlier_overruns text, earlier_available text`;

/** The SQLSTATE of a caller that was wrong about `p_within`. */
export const NOT_WITHIN = 'TG001';

const VOID = STATE_CODES.void;
const ROW = (name: string): string => `q.${name}`;
const ALONE = (name: string): string => `q_${name}`;

/** What a request costs at the price `p` of its hold; the program says it where price or usage are not ordinary. */
function cost(q: typeof ROW): string {
  return `(CASE WHEN ${q('state')} = ${VOID} THEN 0 WHEN ${q('owed')} IS NOT NULL THEN ${q('owed')} ELSE ${costSql(usage(q))} END)`;
}

/** What its cached input has saved; the program says that, too. Of an expired hold it does not, and every token counts at its plain price. */
function saved(q: typeof ROW): string {
  return `(CASE WHEN ${q('state')} = ${VOID} OR ${q('cached')} = 0 THEN 0 WHEN ${q('saved')} IS NOT NULL THEN ${q('saved')}
    ELSE ${costSql({ ...usage(q), cached: '0' })} - ${costSql(usage(q))} END)`;
}

function usage(q: typeof ROW) {
  return { input: q('input'), cached: q('cached'), output: q('output'), images: q('images') };
}

/** The requests of the batch as rows. */
const REQUESTS = `unnest(q_id, q_arrived, q_state, q_input, q_cached, q_output, q_reasoning, q_images, q_source, q_outcome,
      q_backend, q_first_byte_ms, q_duration_ms, q_detail, q_extra, q_owed, q_saved, q_spent, q_possible) WITH ORDINALITY
      AS q (id, arrived, state, input, cached, output, reasoning, images, source, outcome,
        backend, first_byte_ms, duration_ms, detail, extra, owed, saved, spent, possible, place)`;

/** Requests that were closed, by the backend that served or was tried last. */
const SERVED_ROWS = `SELECT q.day, coalesce(b.name, '') AS backend, o.model, q.place, q.cost, q.held, 0::bigint AS lost
      FROM unnest(d_place, d_day, d_route, d_cost, d_held) AS q (place, day, route, cost, held)
      JOIN route o ON o.id = q.route LEFT JOIN backend b ON b.id = q_backend[q.place]`;

/** What other backends may take for failed attempts of these requests. */
const LOST_ROWS = `SELECT q.day, l.backend, o.model, NULL, NULL, NULL, l.amount
      FROM unnest(l_place, l_backend, l_amount) AS l (place, backend, amount)
      JOIN unnest(d_place, d_day, d_route) AS q (place, day, route) ON q.place = l.place JOIN route o ON o.id = q.route`;

/** What was charged and held by account; `of_month` is the part that was admitted in this month. */
const SUMS = `sum(least(cost, held))::bigint AS charged, sum(held)::bigint AS held, count(*) AS holds,
          coalesce(sum(least(cost, held)) FILTER (WHERE day / 100 >= v_month), 0)::bigint AS of_month`;
const sumsBy = (id: string): string => `SELECT ${id} AS id, ${SUMS}, min(created) AS oldest
            FROM unnest(d_account, d_wallet, d_held, d_cost, d_day, d_created) AS q (account, wallet, held, cost, day, created)`;

/** What closing holds gives back and takes, by the names that a statement has for it. */
interface Released {
  readonly charged: string;
  readonly held: string;
  readonly holds: string;
  readonly ofMonth: string;
  /** The part that was admitted in the current period of the budget of account `a`. */
  readonly ofPeriod: { readonly charged: string; readonly held: string };
}

const OF_ACCOUNT = released('v_');
const OF_ACCOUNTS = released('q.');

/** The sums of a batch by their names: all of it is of the period, unless something was admitted before that began. */
function released(of: 'v_' | 'q.'): Released {
  const sumOfPeriod = (amount: string, all: string): string =>
    `CASE WHEN ${of}oldest >= a.budget_from THEN ${all} ELSE (SELECT coalesce(sum(${amount}), 0)::bigint
          FROM unnest(d_account, d_held, d_cost, d_created) AS p (account, held, cost, created)
          WHERE p.account = a.id AND p.created >= a.budget_from) END`;
  const [charged, held] = [`${of}charged`, `${of}held`];
  const ofPeriod = {
    charged: sumOfPeriod('least(p.cost, p.held)', charged),
    held: sumOfPeriod('p.held', held),
  };
  return { charged, held, holds: `${of}holds`, ofMonth: `${of}of_month`, ofPeriod };
}

const RECEIPT_COLUMNS = `(id, account_id, held, charged, overrun, created_at, booked_at, node, price, route, backend,
          input_tokens, cached_tokens, output_tokens, reasoning_tokens, images, output_cap, choices, first_byte_ms,
          duration_ms, state, outcome, source, stream, late, client, detail, extra, cost, possible_cost)`;

const USAGE_COLUMNS = `(account_id, day, endpoint, model, requests, failures, input_tokens, cached_tokens,
        output_tokens, reasoning_tokens, images, charged, cost, possible_cost, costed, saved)`;

const ADD_TO_USAGE = `ON CONFLICT (account_id, day, endpoint, model) DO UPDATE SET
        requests = u.requests + excluded.requests, failures = u.failures + excluded.failures,
        input_tokens = u.input_tokens + excluded.input_tokens, cached_tokens = u.cached_tokens + excluded.cached_tokens,
        output_tokens = u.output_tokens + excluded.output_tokens,
        reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens, images = u.images + excluded.images,
        charged = u.charged + excluded.charged, cost = u.cost + excluded.cost,
        possible_cost = u.possible_cost + excluded.possible_cost, costed = u.costed + excluded.costed,
        saved = u.saved + excluded.saved`;

/** What one request adds to a day, beside its account. */
const COSTED_OF_ONE = 'CASE WHEN q_spent IS NULL THEN 0 ELSE v_charged END';
const USAGE_OF_ONE = `v_day, v_endpoint, v_model, 1, q_failed::int, q_input, q_cached, q_output, q_reasoning, q_images, v_charged,
        coalesce(q_spent, 0), coalesce(q_possible, 0), ${COSTED_OF_ONE}, v_saved`;

const BACKEND_SUMS = [
  'requests',
  'failures',
  'charged',
  'cost',
  'possible_cost',
  'costed',
  ...DURATION_COLUMNS,
];

const ADD_TO_BACKEND = `ON CONFLICT (day, backend, model) DO UPDATE SET
        ${BACKEND_SUMS.map((column) => `${column} = u.${column} + excluded.${column}`).join(', ')}`;

/**
 * Closes a batch of holds: settlements, voids and expiries differ only in what they bring. Each hold is deleted and its
 * receipt written in one statement. Whoever comes second finds no hold, waits for the first one if need be, and then finds
 * the receipt, which says what was done; the hold is always looked for first. Locks are always taken in the same order
 * (holds by id, the overrun account, accounts by id, sums by key), so that two batches never wait for each other in a
 * circle, and the contended ones last.
 *
 * `q_` are the requests of the batch, each id once, in the order of their ids; `l_` is what other backends may take for
 * failed attempts of theirs. `d_` is what was found about those that had
 * a hold, `places` where each of them stands in the batch. What a hold says never changes but for its lease and its meter,
 * so whether anything was used beyond a hold is known before anything is locked; it hardly ever is. `p_within` says that the
 * caller knows that nothing was, from holds of its own; should it be wrong, nothing happens and it hears {@link NOT_WITHIN}.
 *
 * Each statement costs about as much to start as five requests cost in it, so there are few. No statement locks the accounts
 * beforehand: the update takes them in the order of the sorted sums that it begins with, because without a scan of all
 * accounts the only other ways to join both go by the account's key, too.
 *
 * The results are arrays as text. Of the holds that were closed now: places, held, price × usage, booked overrun, what the
 * account can spend; the models if something was used beyond a hold. Of those that were closed earlier: places, states,
 * charged, held, overrun, what the account can spend.
 */
const CLOSE_HOLDS = `DECLARE
  v_now bigint := (${nowUsSql('p_offset_us')}) / 1000;
  v_today bigint := ${daySql('v_now')};
  v_month bigint := v_today / 100;
  d_place bigint[]; d_account text[]; d_held bigint[]; d_cost bigint[]; d_overrun bigint[]; d_day bigint[]; d_route integer[];
  d_saved bigint[]; d_created bigint[]; d_wallet text[];
  v_holds bigint; v_held bigint; v_charged bigint; v_oldest bigint; v_beyond boolean := false; v_found boolean; v_account text;
  v_last_account text; v_booked bigint; v_left bigint; v_of_month bigint; v_wallet text; v_lefts bigint[];
BEGIN
  IF NOT p_within THEN
    SELECT coalesce(bool_or(${cost(ROW)} > h.held), false) INTO v_beyond
      FROM unnest(q_id, q_state, q_input, q_cached, q_output, q_images, q_owed)
        AS q (id, state, input, cached, output, images, owed)
      JOIN hold h ON h.id = q.id JOIN price p ON p.id = h.price;
  END IF;

  IF v_beyond THEN
    PERFORM 1 FROM hold h WHERE h.id = ANY (q_id) ORDER BY h.id FOR UPDATE;
    SELECT a.balance INTO STRICT v_booked FROM account a WHERE a.id = p_overrun_account FOR NO KEY UPDATE;
    ${writeReceipts(`CASE WHEN cost > held THEN greatest(0, least(cost - held, p_overrun_ceiling - v_booked - coalesce(
        sum(greatest(cost - held, 0)) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)))::bigint
        ELSE 0 END`)}
    UPDATE account SET balance = balance + (SELECT sum(o) FROM unnest(d_overrun) AS o) WHERE id = p_overrun_account
      AND v_found;
    INSERT INTO entry (account_id, kind, amount, request_id, cause, actor, created_at)
      SELECT p_overrun_account, 'overrun', q.overrun, q_id[q.place], o.endpoint || '/' || o.model, 'request', v_now
        FROM unnest(d_place, d_held, d_cost, d_overrun, d_route) AS q (place, held, cost, overrun, route)
        JOIN route o ON o.id = q.route WHERE q.cost > q.held;
    SELECT array_agg(o.model ORDER BY q.n)::text INTO models
      FROM unnest(d_route) WITH ORDINALITY AS q (route, n) JOIN route o ON o.id = q.route;
  ELSE
    ${writeReceipts()}
    IF v_found AND p_within THEN RAISE EXCEPTION 'more was used than held' USING ERRCODE = '${NOT_WITHIN}'; END IF;
    IF v_found THEN RAISE EXCEPTION 'a hold appeared meanwhile' USING ERRCODE = 'serialization_failure'; END IF;
  END IF;

  IF v_holds > 0 THEN
    IF v_account = v_last_account THEN
      SELECT coalesce(sum(least(q.cost, q.held)) FILTER (WHERE q.day / 100 >= v_month), 0) INTO v_of_month
        FROM unnest(d_cost, d_held, d_day) AS q (cost, held, day);
      ${releaseBoth(OF_ACCOUNT)}
      available := array_fill(v_left, ARRAY[v_holds::int])::text;
    ELSE
      IF v_wallet IS NULL THEN
        WITH released AS (UPDATE account a SET ${release(OF_ACCOUNTS)}
          FROM (${sumsBy('account')} GROUP BY account ORDER BY account) q
          WHERE a.id = q.id RETURNING a.id, ${left('a')} AS rest)
        SELECT array_agg(r.rest ORDER BY q.n) INTO v_lefts
          FROM unnest(d_account) WITH ORDINALITY AS q (id, n) JOIN released r ON r.id = q.id;
      ELSE
        WITH released AS (UPDATE account a SET ${release(OF_ACCOUNTS)}
          FROM (${sumsBy('coalesce(account, wallet)')} GROUP BY GROUPING SETS (account, wallet) ORDER BY 1) q
          WHERE a.id = q.id RETURNING a.id, ${left('a')} AS rest)
        SELECT array_agg(least(r.rest, t.rest) ORDER BY q.n) INTO v_lefts
          FROM unnest(d_account, d_wallet) WITH ORDINALITY AS q (id, wallet, n) JOIN released r ON r.id = q.id
          LEFT JOIN released t ON t.id = q.wallet;
      END IF;
      available := v_lefts::text;
    END IF;

    INSERT INTO usage_day AS u ${USAGE_COLUMNS}
      SELECT coalesce(q.account, ''), q.day, o.endpoint, o.model, count(*), count(*) FILTER (WHERE q_failed[q.place]),
        sum(q_input[q.place])::bigint, sum(q_cached[q.place])::bigint, sum(q_output[q.place])::bigint,
        sum(q_reasoning[q.place])::bigint, sum(q_images[q.place])::bigint, sum(least(q.cost, q.held))::bigint, ${costSums('q_possible[q.place]')},
        sum(q.saved)::bigint
      FROM unnest(d_place, d_account, d_day, d_route, d_cost, d_held, d_saved)
        AS q (place, account, day, route, cost, held, saved)
      JOIN route o ON o.id = q.route
      GROUP BY GROUPING SETS ((q.account, q.day, o.endpoint, o.model), (q.day, o.endpoint, o.model))
      ORDER BY 1, 2, 3, 4
      ${ADD_TO_USAGE};

    IF cardinality(l_place) > 0 THEN
      ${addBackendSums(`${SERVED_ROWS} UNION ALL ${LOST_ROWS}`)}
    ELSE
      ${addBackendSums(SERVED_ROWS)}
    END IF;
  END IF;

  IF v_holds < cardinality(q_id) THEN
    SELECT array_agg(q.place)::text, array_agg(r.state)::text, array_agg(r.charged)::text, array_agg(r.held)::text,
        array_agg(r.overrun)::text, array_agg(${availableOf('a', 'w')})::text
      INTO earlier, earlier_states, earlier_charged, earlier_held, earlier_overruns, earlier_available
      FROM unnest(q_id) WITH ORDINALITY AS q (id, place) JOIN receipt r ON r.id = q.id JOIN account a ON a.id = r.account_id
        JOIN account w ON w.id = coalesce(a.wallet_id, a.id)
      WHERE q.place <> ALL (coalesce(d_place, '{}'));
  END IF;
  places := d_place::text;
  held := d_held::text;
  costs := d_cost::text;
  overruns := d_overrun::text;
END`;

export const LEDGER_CLOSE_HOLDS = storedFunction(`
CREATE FUNCTION ledger_close_holds(${PARAMETERS}, ${LOST_PARAMETERS}, ${outs(RESULTS)}) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
${CLOSE_HOLDS} $$`);

/** Deletes the holds and writes their receipts, with an overrun where there can be one; `v_found` says whether one of them used more than it held. */
function writeReceipts(overrun?: string): string {
  return `WITH gone AS (
        DELETE FROM hold h USING ${REQUESTS}, price p, account m
        WHERE h.id = q.id AND p.id = h.price AND m.id = h.account_id
        RETURNING q.*, h.account_id, m.wallet_id, h.held, h.created_at, h.node, h.price, h.route, h.output_cap, h.choices, h.stream,
          h.client, ${cost(ROW)} AS cost, ${saved(ROW)} AS cache_saving${overrun === undefined ? ', 0::bigint AS overrun' : ''}),
      ${overrun === undefined ? '' : `priced AS MATERIALIZED (SELECT *, ${overrun} AS overrun FROM gone),`}
      written AS (
        INSERT INTO receipt ${RECEIPT_COLUMNS}
        SELECT id, account_id, held, least(cost, held), overrun, created_at, v_now, node, price, route, backend,
          input, cached, output, reasoning, images, output_cap, choices, first_byte_ms, duration_ms, state, outcome, source,
          stream, ${lateness('arrived')}, client, detail, extra,
          spent, coalesce(possible, 0)
        FROM ${overrun === undefined ? 'gone' : 'priced'})
      SELECT array_agg(place), array_agg(account_id), array_agg(held), array_agg(cost), array_agg(overrun),
          array_agg(CASE WHEN created_at / 86400000 = v_now / 86400000 THEN v_today ELSE ${daySql('created_at')} END),
          array_agg(route), array_agg(cache_saving), array_agg(created_at), count(*), sum(held), sum(least(cost, held)),
          coalesce(bool_or(cost > held), false), min(account_id), max(account_id), min(created_at), array_agg(wallet_id),
          max(wallet_id)
        INTO d_place, d_account, d_held, d_cost, d_overrun, d_day, d_route, d_saved, d_created, v_holds, v_held, v_charged,
          v_found, v_account, v_last_account, v_oldest, d_wallet, v_wallet
        FROM ${overrun === undefined ? 'gone' : 'priced'};`;
}

/** 1 for a receipt that is booked long after its id was made: an index of its own finds it by its booking time. */
function lateness(arrived: string): string {
  return `CASE WHEN v_now - ${arrived} BETWEEN 0 AND p_prompt_ms THEN 0 ELSE 1 END`;
}

function addBackendSums(rows: string): string {
  return `INSERT INTO backend_day AS u (day, backend, model, ${BACKEND_SUMS.join(', ')})
      SELECT q.day, q.backend, q.model, count(q.place), count(*) FILTER (WHERE q_failed[q.place]),
        coalesce(sum(least(q.cost, q.held)), 0)::bigint, ${costSums('q.lost')}, ${durationCounts('q_duration_ms[q.place]')}
      FROM (${rows}) AS q
      GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      ${ADD_TO_BACKEND};`;
}

/** What the requests of a group cost the operator, and what was charged for those of which that is known. */
function costSums(possible: string): string {
  return `coalesce(sum(q_spent[q.place]), 0)::bigint, coalesce(sum(${possible}), 0)::bigint,
        coalesce(sum(least(q.cost, q.held)) FILTER (WHERE q_spent[q.place] IS NOT NULL), 0)::bigint`;
}

/** How many of a group took up to each bound, and how many longer. */
function durationCounts(duration: string): string {
  return lasted(duration)
    .map((condition) => `count(*) FILTER (WHERE ${condition})`)
    .join(', ');
}

function lasted(duration: string): string[] {
  return DURATION_COLUMNS.map((_, bucket) => {
    const above = `${duration} > ${DURATION_BOUNDS_MS[bucket - 1] ?? -1}`;
    const bound = DURATION_BOUNDS_MS[bucket];
    return bound === undefined ? above : `${above} AND ${duration} <= ${bound}`;
  });
}

function outs(results: string): string {
  return results.trim().replaceAll(/(\w+) text/g, 'OUT $1 text');
}

/**
 * Closes holds, and answers when that is safe on disk. The commit itself does not wait for the disk: all nodes wait for
 * each other's locks on the sums of the day, and would wait for each other's disk writes. A second, empty transaction
 * does; the log is written in order, so when its commit is on disk, the first one is. A procedure with settings of its own
 * could not commit, so they are made for its first transaction.
 */
export const LEDGER_CLOSE = storedFunction(`
CREATE PROCEDURE ledger_close(${PARAMETERS}, ${LOST_PARAMETERS}, ${outs(RESULTS)}) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true), ${LOOK_UP_BY_KEY_IN_TRANSACTION};
${CLOSE_HOLDS};
  COMMIT;
  PERFORM pg_logical_emit_message(true, 'tollgate', '');
END $$`);

const OF_ONE: Released = {
  charged: 'v_charged',
  held: 'v_held',
  holds: '1',
  ofMonth: `CASE WHEN v_day / 100 >= v_month THEN v_charged ELSE 0 END`,
  ofPeriod: {
    charged: 'CASE WHEN v_created >= a.budget_from THEN v_charged ELSE 0 END',
    held: 'CASE WHEN v_created >= a.budget_from THEN v_held ELSE 0 END',
  },
};

/**
 * The same for a hold that is closed alone, covers its cost and has no costs elsewhere, as nearly all do where no node has
 * more than some hundred in a second: statements over rows of arrays cost twice as much as these. If the hold is gone, the
 * function above says what became of it.
 */
export const LEDGER_CLOSE_ONE = storedFunction(`
CREATE PROCEDURE ledger_close_one(${asPlain(PARAMETERS)}, ${outs(RESULTS)}) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := (${nowUsSql('p_offset_us')}) / 1000;
  v_month bigint := ${monthSql('v_now')};
  v_account text; v_held bigint; v_created bigint; v_node bigint; v_price bigint; v_route bigint; v_cap bigint;
  v_choices bigint; v_stream bigint; v_client text; v_cost bigint; v_saved bigint; v_endpoint text; v_model text;
  v_backend text; v_charged bigint; v_day bigint; v_wallet text; v_left bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true), ${LOOK_UP_BY_KEY_IN_TRANSACTION};
  DELETE FROM hold h USING price p, account m, route o LEFT JOIN backend b ON b.id = q_backend
    WHERE h.id = q_id AND p.id = h.price AND m.id = h.account_id AND o.id = h.route
    RETURNING h.account_id, m.wallet_id, h.held, h.created_at, h.node, h.price, h.route, h.output_cap, h.choices, h.stream, h.client,
      ${cost(ALONE)}, ${saved(ALONE)}, o.endpoint, o.model, coalesce(b.name, '')
    INTO v_account, v_wallet, v_held, v_created, v_node, v_price, v_route, v_cap, v_choices, v_stream, v_client, v_cost, v_saved,
      v_endpoint, v_model, v_backend;
  IF FOUND THEN
    IF v_cost > v_held THEN RAISE EXCEPTION 'more was used than held' USING ERRCODE = '${NOT_WITHIN}'; END IF;
    v_charged := v_cost;
    v_day := ${daySql('v_created')};
    INSERT INTO receipt ${RECEIPT_COLUMNS}
      VALUES (q_id, v_account, v_held, v_charged, 0, v_created, v_now, v_node, v_price, v_route, q_backend, q_input, q_cached,
        q_output, q_reasoning, q_images, v_cap, v_choices, q_first_byte_ms, q_duration_ms, q_state, q_outcome, q_source,
        v_stream, ${lateness('q_arrived')}, v_client, q_detail, q_extra, q_spent, coalesce(q_possible, 0));
    ${releaseBoth(OF_ONE)}
    INSERT INTO usage_day AS u ${USAGE_COLUMNS}
      VALUES ('', ${USAGE_OF_ONE}), (v_account, ${USAGE_OF_ONE})
      ${ADD_TO_USAGE};
    INSERT INTO backend_day AS u (day, backend, model, ${BACKEND_SUMS.join(', ')})
      VALUES (v_day, v_backend, v_model, 1, q_failed::int, v_charged, coalesce(q_spent, 0), 0, ${COSTED_OF_ONE},
        ${lasted('q_duration_ms')
          .map((condition) => `(${condition})::int`)
          .join(', ')})
      ${ADD_TO_BACKEND};
    places := '{1}';
    held := ARRAY[v_held]::text;
    costs := ARRAY[v_cost]::text;
    overruns := '{0}';
    available := ARRAY[v_left]::text;
  ELSE
    SELECT * INTO ${names(RESULTS)}
      FROM ${LEDGER_CLOSE_HOLDS.name}(${inArrays(PARAMETERS)}, '{}', '{}', '{}');
  END IF;
  COMMIT;
  PERFORM pg_logical_emit_message(true, 'tollgate', '');
END $$`);

/** How many results there are: the call of a procedure has a place for each. */
export const CLOSE_RESULTS = RESULTS.split(',').length;

function names(parameters: string): string {
  return parameters.replaceAll(/ (text|bigint|boolean)(\[\])?/g, '');
}

const EXPIRED = STATE_CODES.expired;

/** What the meter of a hold has seen. */
const HOLD_USAGE = {
  input: 'h.input_tokens',
  cached: 'h.cached_tokens',
  output: 'h.output_tokens',
  images: 'h.images',
};

/** Closes holds whose lease ran out; what their backends did beyond what was delivered is a possible cost. One that is being renewed or closed at this moment is somebody's: it is skipped. */
export const LEDGER_EXPIRE = storedFunction(`
CREATE FUNCTION ledger_expire(
  p_offset_us bigint, p_max_balance bigint, p_overrun_account text, p_overrun_ceiling bigint, p_prompt_ms bigint,
  p_most bigint, OUT ids text, ${outs(RESULTS)}
) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := (${nowUsSql('p_offset_us')}) / 1000;
  v_ids text[]; v_states bigint[]; v_input bigint[]; v_cached bigint[]; v_output bigint[]; v_reasoning bigint[];
  v_images bigint[]; v_sources bigint[]; v_durations bigint[]; v_extra text[]; v_owed bigint[]; v_possible bigint[];
  v_count int;
BEGIN
  WITH overdue AS MATERIALIZED (
    SELECT h.id, h.input_tokens, h.cached_tokens, h.output_tokens, h.reasoning_tokens, h.images, h.created_at, h.extra,
      h.owed, h.held, ${isDeliveredSql('h')} AS delivered, ${costSql(HOLD_USAGE)} AS metered
    FROM hold h JOIN price p ON p.id = h.price WHERE h.lease_until < v_now AND NOT ${isAdoptable('v_now')}
    ORDER BY h.lease_until LIMIT p_most FOR UPDATE OF h SKIP LOCKED)
  SELECT array_agg(id), array_agg(CASE WHEN delivered THEN ${EXPIRED} ELSE ${VOID} END), array_agg(input_tokens),
      array_agg(cached_tokens), array_agg(output_tokens), array_agg(reasoning_tokens), array_agg(images),
      array_agg(CASE WHEN delivered THEN ${SOURCE_CODES.counted} END),
      array_agg(least(greatest(0, v_now - created_at), 2147483647)), array_agg(extra), array_agg(owed),
      array_agg(CASE WHEN delivered THEN greatest(0, held - coalesce(owed, metered)) ELSE held END)
    INTO v_ids, v_states, v_input, v_cached, v_output, v_reasoning, v_images, v_sources, v_durations, v_extra, v_owed,
      v_possible
    FROM (SELECT * FROM overdue ORDER BY id) AS ordered;
  v_count := cardinality(v_ids);
  IF v_count IS NULL THEN RETURN; END IF;
  SELECT * INTO ${names(RESULTS)}
    FROM ${LEDGER_CLOSE_HOLDS.name}(p_offset_us, p_max_balance, p_overrun_account, p_overrun_ceiling, p_prompt_ms, false, v_ids,
      array_fill(-1::bigint, ARRAY[v_count]), v_states, array_fill(true, ARRAY[v_count]), v_input, v_cached, v_output,
      v_reasoning, v_images, v_sources,
      array_fill(${OUTCOME_CODES.expired}::bigint, ARRAY[v_count]), '{}', '{}', v_durations, '{}', v_extra, v_owed,
      '{}', '{}', v_possible, ARRAY(SELECT generate_series(1, v_count)::bigint), array_fill(''::text, ARRAY[v_count]), v_possible);
  ids := array_to_string(v_ids, ',');
END $$`);

/** Longer leases for running requests, and how far their meters have come; a meter that makes no sense is not believed. */
export const LEDGER_RENEW = storedFunction(`
CREATE FUNCTION ledger_renew(
  p_offset_us bigint, p_lease_ms bigint, q_id text[], q_believed boolean[], q_input bigint[], q_cached bigint[],
  q_output bigint[], q_reasoning bigint[], q_images bigint[], q_extra text[], q_owed bigint[], OUT closed text
) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
DECLARE
  v_until bigint := (${nowUsSql('p_offset_us')}) / 1000 + p_lease_ms; v_renewed bigint;
BEGIN
  PERFORM 1 FROM hold r WHERE r.id = ANY (q_id) ORDER BY r.id FOR NO KEY UPDATE;
  UPDATE hold r SET lease_until = v_until,
      input_tokens = CASE WHEN q_believed[n] THEN q_input[n] ELSE r.input_tokens END,
      cached_tokens = CASE WHEN q_believed[n] THEN q_cached[n] ELSE r.cached_tokens END,
      output_tokens = CASE WHEN q_believed[n] THEN q_output[n] ELSE r.output_tokens END,
      reasoning_tokens = CASE WHEN q_believed[n] THEN q_reasoning[n] ELSE r.reasoning_tokens END,
      images = CASE WHEN q_believed[n] THEN q_images[n] ELSE r.images END,
      extra = CASE WHEN q_believed[n] THEN q_extra[n] ELSE r.extra END,
      owed = CASE WHEN q_believed[n] THEN q_owed[n] ELSE r.owed END
    FROM generate_subscripts(q_id, 1) AS n
    WHERE r.id = q_id[n];
  GET DIAGNOSTICS v_renewed = ROW_COUNT;
  -- Without a receipt it is one that the database lost, and that is written again.
  IF v_renewed < cardinality(q_id) THEN
    closed := (SELECT string_agg(q.id, ',') FROM unnest(q_id) AS q (id) JOIN receipt e ON e.id = q.id);
  END IF;
END $$`);

/**
 * Writes holds again that a crash of the database lost while their requests ran on. They hold what they did, or as much
 * of it as the account has left by now: the rest of what they cost is then the operator's loss, and booked as such. A hold
 * is lost when there is neither hold nor receipt. Once the hold is written nobody else can close it, so the receipt is looked
 * for after that. Nothing is taken by its number here: what the database lost may include numbers.
 */
export const LEDGER_RESTORE = storedFunction(`
CREATE FUNCTION ledger_restore(
  p_lease_ms bigint, p_value text[], p_input bigint[], p_cached bigint[], p_output bigint[], p_image bigint[], o_kind text[],
  o_endpoint text[], o_model text[], b_name text[], n_name text[], q_id text[], q_account text[], q_held bigint[],
  q_price bigint[], q_route bigint[], q_input bigint[], q_output bigint[], q_choices bigint[], q_stream bigint[],
  q_client text[], q_created bigint[]
) RETURNS void LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
DECLARE
  v_numbers record; v_held bigint; v_wallet text; n bigint;
BEGIN
  SELECT * INTO v_numbers FROM ${LEDGER_NUMBERS.name}(p_value, p_input, p_cached, p_output, p_image, o_kind, o_endpoint, o_model,
    b_name, n_name);
  FOR n IN SELECT place FROM unnest(q_account) WITH ORDINALITY AS q (account, place) ORDER BY account, place LOOP
    SELECT a.wallet_id INTO v_wallet FROM account a WHERE a.id = q_account[n] FOR NO KEY UPDATE;
    CONTINUE WHEN NOT FOUND;
    SELECT least(q_held[n], greatest(0, w.balance - w.held - w.owed)) INTO v_held FROM account w
      WHERE w.id = coalesce(v_wallet, q_account[n]) FOR NO KEY UPDATE;
    INSERT INTO hold (id, account_id, held, lease_until, created_at, node, price, route, input_ceiling, output_cap, choices,
        stream, client)
      VALUES (q_id[n], q_account[n], v_held, q_created[n] + p_lease_ms, q_created[n], v_numbers.nodes[1],
        v_numbers.prices[q_price[n]], v_numbers.routes[q_route[n]], q_input[n], q_output[n], q_choices[n], q_stream[n],
        q_client[n])
      ON CONFLICT DO NOTHING;
    CONTINUE WHEN NOT FOUND;
    IF EXISTS (SELECT 1 FROM receipt r WHERE r.id = q_id[n]) THEN
      DELETE FROM hold h WHERE h.id = q_id[n];
    ELSE
      UPDATE account SET held = held + CASE WHEN v_wallet IS NULL THEN v_held ELSE 0 END, open_holds = open_holds + 1,
        team_held = team_held + CASE WHEN v_wallet IS NULL THEN 0 ELSE v_held END,
        budget_held = budget_held + CASE WHEN budget IS NOT NULL AND q_created[n] >= budget_from THEN v_held ELSE 0 END
        WHERE id = q_account[n];
      UPDATE account SET held = held + v_held, open_holds = open_holds + 1 WHERE id = v_wallet;
    END IF;
  END LOOP;
END $$`);

/**
 * Changes a balance from outside a request. Every entry comes with a key, so that a caller who lost the connection can
 * ask again. Nothing is posted when it would leave 0 ≤ held ≤ balance ≤ maximum, take what is owed, or credit an
 * account that was removed; the caller says why.
 */
export const LEDGER_POST = storedFunction(`
CREATE FUNCTION ledger_post(
  p_offset_us bigint, p_max_balance bigint, p_account text, p_kind text, p_amount bigint, p_once text, p_cause text,
  p_actor text, p_request text
) RETURNS TABLE (entry_id bigint, balance bigint, held bigint, owed bigint, removed boolean) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
BEGIN
  SELECT a.balance, a.held, a.owed, ${isRemoved('a')} INTO balance, held, owed, removed FROM account a WHERE a.id = p_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT e.id INTO entry_id FROM entry e WHERE e.once = p_once;
  IF NOT FOUND AND balance + p_amount BETWEEN (CASE WHEN p_amount < 0 THEN held + owed ELSE 0 END) AND p_max_balance
    AND NOT (removed AND p_amount > 0) THEN
    INSERT INTO entry (account_id, kind, amount, request_id, once, cause, actor, created_at)
      VALUES (p_account, p_kind, p_amount, p_request, p_once, p_cause, p_actor, (${nowUsSql('p_offset_us')}) / 1000)
      RETURNING id INTO entry_id;
    UPDATE account SET balance = balance + p_amount WHERE id = p_account RETURNING account.balance INTO balance;
  END IF;
  RETURN NEXT;
END $$`);

export function isRemoved(row: string): string {
  return `(${row}.email = ${row}.id || '${REMOVED_DOMAIN}' OR ${row}.ended_at IS NOT NULL)`;
}

/** `availableOf` of src/ledger/decide.ts for an account `a` that a wallet `w` pays for. */
function availableOf(a: string, w: string): string {
  return `least(${leftOfMoney(w)}, ${leftOfBudget(a)})`;
}

/** What is left for the account by its own row; of a team's money that row says nothing. */
function left(row: string): string {
  return `least(CASE WHEN ${row}.wallet_id IS NULL THEN ${leftOfMoney(row)} END, ${leftOfBudget(row)})`;
}

function leftOfMoney(row: string): string {
  const spent = `CASE WHEN ${row}.month >= v_month THEN ${row}.month_spent ELSE 0 END`;
  const monthLeft = `greatest(0, coalesce(${row}.monthly_limit, p_max_balance) - ${spent})`;
  return `greatest(least(${monthLeft}, ${row}.balance - ${row}.owed) - ${row}.held, 0)`;
}

function leftOfBudget(row: string): string {
  const ofPeriod = `CASE WHEN ${row}.budget_from >= ${periodStartSql(`${row}.budget_per`, 'v_now')}
    THEN ${row}.budget_used + ${row}.budget_held ELSE 0 END`;
  return `CASE WHEN ${row}.budget IS NOT NULL THEN greatest(${row}.budget - ${ofPeriod}, 0) END`;
}

/**
 * What closing holds changes on their account `a`: its money, unless a team pays, whose own row changes alike. Of a budget, what was admitted in an earlier
 * period belongs to that one.
 */
function release({ charged, held, holds, ofMonth, ofPeriod }: Released): string {
  const own = (amount: string): string => `CASE WHEN a.wallet_id IS NULL THEN ${amount} ELSE 0 END`;
  return `balance = a.balance - ${own(charged)}, held = a.held - ${own(held)}, open_holds = a.open_holds - ${holds},
        team_held = a.team_held - CASE WHEN a.wallet_id IS NULL THEN 0 ELSE ${held} END,
        budget_used = CASE WHEN a.budget IS NULL THEN a.budget_used ELSE a.budget_used + ${ofPeriod.charged} END,
        budget_held = CASE WHEN a.budget IS NULL THEN a.budget_held ELSE a.budget_held - ${ofPeriod.held} END,
        month_spent = ${ofMonth} + CASE WHEN a.month >= v_month THEN a.month_spent ELSE 0 END,
        month = greatest(a.month, v_month)`;
}

/** Where a team pays, its row is changed with the account's, and after it; a team has no team and no budget. */
function releaseBoth(sums: Released): string {
  return `IF v_wallet IS NULL THEN
      UPDATE account a SET ${release(sums)} WHERE a.id = v_account RETURNING ${left('a')} INTO v_left;
    ELSE
      WITH released AS (UPDATE account a SET ${release(sums)} FROM (VALUES (v_account), (v_wallet)) AS q (id)
        WHERE a.id = q.id RETURNING ${left('a')} AS rest)
      SELECT min(rest) INTO v_left FROM released;
    END IF;`;
}
