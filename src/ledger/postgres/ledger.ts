import type { Fault } from '../../std/fault.ts';
import type { RequestId } from '../../std/ids.ts';
import type { Log } from '../../std/log.ts';
import { connectionShares, DEFAULT_CONNECTIONS, type PostgresAddress } from '../../store/postgres-address.ts';
import {
  archivableDays,
  archiveDay,
  type ArchiveBatch,
  type ArchivingStore,
  type LeftBatch,
} from '../archive.ts';
import type { Lease } from '../lease.ts';
import type {
  AccountDay,
  AccountSnapshot,
  Admission,
  AdmissionRequest,
  ArchivableDay,
  ArchivableRequest,
  Archived,
  Caller,
  Ending,
  Ledger,
  LedgerLoad,
  NewEntry,
  Progress,
  Redeemed,
  Redemption,
  Settled,
  Settlement,
  Verification,
  VerifyOptions,
} from '../port.ts';
import { NO_USAGE, extraUsageText, isUsage } from '../price.ts';
import { oldestHoldMs } from '../verify-checks.ts';
import { nowUsSql } from './sql-fragments.ts';
import { AdmissionBatch, PROBE, type AdmitRow } from './admission.ts';
import { ARCHIVE, archiveValues, leftBatch, type ArchiveRow } from './archive.ts';
import { BatchQueue, unavailable } from './batch-queue.ts';
import { callTogether, plainArray, textArray } from './batch.ts';
import { IssuedHolds, RESTORE, restoreValues } from './issued-holds.ts';
import { Numbers } from './numbers.ts';
import { CallFailed, LedgerPool, type Statement } from './pool.ts';
import { postEntry, redeemCode } from './posting.ts';
import { giveBackAmount, reclaimAmount } from './reclaim.ts';
import { NOW_MS, LedgerQueries } from './queries.ts';
import { changeBudget, moveMoney } from './wallets.ts';
import { LEDGER_RENEW, NOT_WITHIN } from './settlement-sql.ts';
import {
  closeCall,
  closedRows,
  EXPIRE,
  expiredRows,
  expireValues,
  firstOfEach,
  isWithin,
  settledOf,
  settlementOf,
  voidOf,
  owedFor,
  type ClosedAnswer,
  type ClosedRow,
  type CloseRequest,
  type KnownCosts,
  type ExpiredAnswer,
} from './settlement.ts';
import { UncertainAdmissions } from './uncertain-admissions.ts';

export function openPostgresLedger(address: PostgresAddress, options: PostgresLedgerOptions): PostgresLedger {
  return new PostgresLedger(address, options);
}

interface PostgresLedgerOptions {
  /** Names this process in the holds it makes; no two processes share one. */
  readonly node: string;
  readonly log: Log;
  readonly leaseMs?: number | undefined;
  /** Added to the database's clock, the only one that counts here. For tests. */
  readonly clockOffsetMs?: (() => number) | undefined;
  /** Multiplies every deadline, for work that no client waits for; 1 when absent. */
  readonly deadlineFactor?: number | undefined;
}

/**
 * The ledger on Postgres, for any number of nodes. What arrives together travels together: one call of one function
 * decides a batch inside the database, under the locks of the accounts concerned, on the database's clock.
 */
export class PostgresLedger implements Ledger {
  readonly #log: Log;
  readonly #lease: Lease;
  readonly #offsetMs: () => number;
  /**
   * For calls that requests wait for; two of admissions, three of settlements (which wait for the disk) and one of callers
   * are on their way at most, so six connections are always enough.
   */
  readonly #ledgerPool: LedgerPool;
  /** For everything else; calls beyond its connections wait for each other. */
  readonly #controlPool: LedgerPool;
  readonly #queries: LedgerQueries;
  readonly #uncertain: UncertainAdmissions;
  readonly #issued = new IssuedHolds();
  readonly #numbers: Numbers;
  readonly #admissions: BatchQueue<AdmissionRequest, Admission>;
  readonly #closes: BatchQueue<CloseRequest, Settled>;
  readonly #callers: BatchQueue<Caller, Identified>;

  constructor(
    address: PostgresAddress,
    { node, log, leaseMs = LEASE_MS, clockOffsetMs = () => 0, deadlineFactor = 1 }: PostgresLedgerOptions,
  ) {
    this.#log = log;
    this.#lease = { node, leaseMs };
    this.#offsetMs = clockOffsetMs;
    const { ledger, control } = connectionShares(address.connections ?? DEFAULT_CONNECTIONS);
    this.#ledgerPool = new LedgerPool(address, log, ledger, deadlineFactor);
    this.#controlPool = new LedgerPool(address, log, control, deadlineFactor);
    this.#queries = new LedgerQueries(this.#ledgerPool, address, clockOffsetMs);
    this.#numbers = new Numbers(this.#ledgerPool, node);
    this.#uncertain = new UncertainAdmissions((ids) => this.#voidFound(ids));
    this.#admissions = this.#admissionQueue(deadlineFactor);
    this.#closes = this.#closeQueue(deadlineFactor);
    this.#callers = new BatchQueue({ deadlineFactor, run: (callers) => this.#identifyAll(callers) });
  }

  load(): LedgerLoad {
    return {
      batches: [
        this.#admissions.load('admissions'),
        this.#closes.load('settlements'),
        this.#callers.load('callers'),
      ],
      connections: [this.#ledgerPool.load('ledger'), this.#controlPool.load('control')],
    };
  }

  admit(request: AdmissionRequest): Promise<Admission> {
    return this.#admissions.submit(request);
  }

  async settle(requestId: RequestId, settlement: Settlement): Promise<Settled> {
    return this.#closes.submit(settlementOf(requestId, settlement));
  }

  void(requestId: RequestId, ending: Ending): Promise<Settled> {
    return this.#closes.submit(voidOf(requestId, ending));
  }

  async renew(progress: readonly Progress[]): Promise<readonly RequestId[]> {
    const latest = [...new Map(progress.map((one) => [one.requestId, one])).values()];
    const closed: string[] = [];
    for (let start = 0; start < latest.length; start += RENEW_TOGETHER) {
      const values = await this.#renewValues(latest.slice(start, start + RENEW_TOGETHER));
      const [row] = await this.#call<{ readonly closed: string | null }>(RENEW, values);
      closed.push(...(row?.closed?.split(',') ?? []));
    }
    return closed as RequestId[];
  }

  async expire(): Promise<number> {
    for (let closed = 0; ;) {
      const values = expireValues(EXPIRE_TOGETHER, this.#offsetUs());
      const rows = expiredRows((await this.#call<ExpiredAnswer>(EXPIRE, values))[0]);
      this.#reportOverruns(rows);
      closed += rows.length;
      if (rows.length < EXPIRE_TOGETHER) return closed;
    }
  }

  async adopt(requestId: RequestId): Promise<boolean> {
    await this.#numbers.needForAdmissions([]);
    const values = [this.#offsetUs(), this.#lease.leaseMs, this.#numbers.node, requestId];
    return (await this.#call(ADOPT, values)).length > 0;
  }

  async giveUp(requestIds: readonly RequestId[]): Promise<void> {
    await this.#call(GIVE_UP, [this.#offsetUs(), textArray(requestIds)]);
  }

  async identify(caller: Caller): Promise<AccountSnapshot | undefined> {
    return (await this.#callers.submit(caller)).snapshot;
  }

  post(entry: NewEntry): ReturnType<Ledger['post']> {
    return postEntry(this.#controlPool, entry, this.#offsetUs());
  }

  redeem(redemption: Redemption): Promise<Redeemed | undefined> {
    return redeemCode(this.#controlPool, redemption, this.#offsetUs());
  }

  reclaim(reclaim: Parameters<Ledger['reclaim']>[0]): ReturnType<Ledger['reclaim']> {
    return reclaimAmount(this.#controlPool, reclaim, this.#offsetUs());
  }

  giveBack(reclaim: Parameters<Ledger['giveBack']>[0]): ReturnType<Ledger['giveBack']> {
    return giveBackAmount(this.#controlPool, reclaim, this.#offsetUs());
  }

  setBudget(change: Parameters<Ledger['setBudget']>[0]): Promise<void> {
    return changeBudget(this.#controlPool, change, this.#offsetUs());
  }

  move(wanted: Parameters<Ledger['move']>[0]): Promise<void> {
    return moveMoney(this.#controlPool, wanted, this.#offsetUs());
  }

  archive(day: AccountDay, together = ARCHIVE_TOGETHER): Promise<Archived> {
    const leave = async (batch: ArchiveBatch): Promise<LeftBatch> =>
      leftBatch((await this.#call<ArchiveRow>(ARCHIVE, archiveValues(batch, this.#offsetUs())))[0]);
    return archiveDay({ read: this.#read, leave }, day, together);
  }

  async archivable(request: ArchivableRequest): Promise<readonly ArchivableDay[]> {
    const now = await this.#queries.now().catch((error: unknown) => {
      throw unavailable(String(error), error);
    });
    return archivableDays({ read: this.#read }, now, request);
  }

  async verify({ full = false, longestRequestMs }: VerifyOptions = {}): Promise<Verification> {
    try {
      return await this.#queries.verify(full, oldestHoldMs(longestRequestMs, this.#lease.leaseMs));
    } catch (error) {
      throw unavailable(String(error), error);
    }
  }

  /**
   * Does what every request does, for a token that no account has, and writes: if this gets an answer, requests can be
   * served.
   */
  async probe(): Promise<void> {
    const [row] = await this.#ledgerPool.call<AdmitRow>(PROBE.statement, PROBE.values);
    if (row?.group_results.startsWith('{-1,') !== true) throw new Error('the admission gave no answer');
    await this.#ledgerPool.call(HEARTBEAT, []);
  }

  async close(): Promise<void> {
    this.#uncertain.close();
    await Promise.all([this.#ledgerPool.close(), this.#controlPool.close(), this.#queries.close()]);
  }

  #admissionQueue(deadlineFactor: number): BatchQueue<AdmissionRequest, Admission> {
    return new BatchQueue({
      deadlineFactor,
      run: (requests) => callTogether(requests, (some) => this.#admitAll(some)),
      mostRunning: 2,
      // A caller whose account is locked does not delay the others.
      keyOf: ({ caller }) => (caller.kind === 'token' ? caller.hash : caller.id),
      // The client has already been told to try again: what was admitted too late is released.
      onLate: ({ requestId }, answer) => {
        if ('kind' in answer && answer.kind === 'admitted') this.#uncertain.add(requestId);
      },
    });
  }

  #closeQueue(deadlineFactor: number): BatchQueue<CloseRequest, Settled> {
    return new BatchQueue({
      deadlineFactor,
      mostRunning: 3,
      run: (closes) => this.#closeAll(closes),
      keyOf: ({ requestId }) => this.#issued.get(requestId)?.admission.accountId ?? requestId,
    });
  }

  async #admitAll(requests: readonly AdmissionRequest[]): Promise<readonly (Admission | Fault)[]> {
    const batch = new AdmissionBatch(requests);
    await this.#numbers.needForAdmissions(requests);
    try {
      const { statement, values } = batch.call(this.#numbers, this.#lease.leaseMs, this.#offsetUs());
      const [row] = await this.#ledgerPool.call<AdmitRow>(statement, values);
      const admissions = batch.admissions(row);
      this.#remember(requests, admissions);
      return admissions;
    } catch (error) {
      if (!(error instanceof CallFailed) || error.outcome !== 'unknown') throw error;
      return await this.#lookUp(requests, error);
    }
  }

  /** The answer was lost on its way. The holds themselves tell what was decided, if they can be asked in time. */
  async #lookUp(
    requests: readonly AdmissionRequest[],
    lost: CallFailed,
  ): Promise<readonly (Admission | Fault)[]> {
    const found = await this.#queries.found(requests).catch(() => []);
    this.#remember(requests, found);
    return requests.map((request, index) => {
      const admission = found[index];
      if (admission) return admission;
      this.#uncertain.add(request.requestId);
      return unavailable(`it is not known whether the hold was written: ${lost.message}`, lost);
    });
  }

  #closeAll(closes: readonly CloseRequest[]): Promise<readonly (Settled | Fault)[]> {
    return callTogether(closes, async (some) => {
      const rows = await this.#closeRows(some);
      if (rows.size < some.length) await this.#closeLost(some, rows);
      return some.map(({ requestId }) => settledOf(rows.get(requestId), requestId));
    });
  }

  async #closeRows(closes: readonly CloseRequest[]): Promise<Map<string, ClosedRow>> {
    await this.#numbers.needForBackends(closes.map(({ ending }) => ending.upstream));
    const sent = firstOfEach(closes);
    const costs = await owedFor(sent, this.#issued, this.#ledgerPool);
    const known = { owed: costs.map((one) => one?.owed), saved: costs.map((one) => one?.saved) };
    const within = sent.every((closing) => isWithin(closing, this.#issued.get(closing.requestId)));
    const answer = await this.#callClose(sent, { within, ...known }).catch((error: unknown) => {
      // A hold that was lost and written again may be smaller than it was.
      if (error instanceof CallFailed && error.sqlState === NOT_WITHIN)
        return this.#callClose(sent, { within: false, ...known });
      throw error;
    });
    const ids = sent.map(({ requestId }) => requestId);
    const rows = closedRows(answer, ids, (place) => sent[place]?.state ?? 'void');
    this.#reportOverruns(rows);
    const found = new Map(rows.map((row) => [row.id, row]));
    this.#issued.forget(found.keys());
    return found;
  }

  async #callClose(sent: readonly CloseRequest[], known: KnownCosts): Promise<ClosedAnswer | undefined> {
    const { statement, values } = closeCall(sent, known, {
      numbers: this.#numbers,
      offsetUs: this.#offsetUs(),
    });
    return (await this.#ledgerPool.call<ClosedAnswer>(statement, values))[0];
  }

  /** Holds that were granted and are missing: a crash of the database lost them. */
  async #closeLost(closes: readonly CloseRequest[], rows: Map<string, ClosedRow>): Promise<void> {
    const missing = closes.filter(({ requestId }) => !rows.has(requestId));
    const lost = this.#issued.among(missing.map(({ requestId }) => requestId));
    if (lost.length === 0) return;
    this.#log.warn('holds_restored', { requests: lost.map(({ request }) => request.requestId) });
    this.#numbers.forget();
    await this.#ledgerPool.call(RESTORE, restoreValues(lost, this.#lease));
    for (const [id, row] of await this.#closeRows(missing)) rows.set(id, row);
  }

  async #voidFound(ids: readonly RequestId[]): Promise<ReadonlySet<string>> {
    const ending: Ending = { outcome: 'shed', errorCode: 'service_unavailable', attempts: [], durationMs: 0 };
    const rows = await this.#closeRows(ids.map((id) => voidOf(id, ending)));
    return new Set(rows.keys());
  }

  #identifyAll(callers: readonly Caller[]): Promise<readonly (Identified | Fault)[]> {
    return callTogether(callers, async (some) => {
      const snapshots = await this.#queries.snapshots(some);
      return snapshots.map((snapshot) => ({ snapshot }));
    });
  }

  async #renewValues(progress: readonly Progress[]): Promise<unknown[]> {
    const believed = progress.map(({ requestId, delivered }) => {
      if (isUsage(delivered)) return true;
      this.#log.error('meter_refused', { request: requestId, delivered });
      return false;
    });
    const meters = progress.map(({ delivered }, index) => (believed[index] ? delivered : NO_USAGE));
    const used = progress.map(({ requestId }, index) => ({ requestId, usage: meters[index] ?? NO_USAGE }));
    const owed = await this.#owed(used);
    return [
      this.#offsetUs(),
      this.#lease.leaseMs,
      textArray(progress.map(({ requestId }) => requestId)),
      plainArray(believed),
      plainArray(meters.map(({ input }) => input)),
      plainArray(meters.map(({ cached }) => cached)),
      plainArray(meters.map(({ output }) => output)),
      plainArray(meters.map(({ reasoning }) => reasoning)),
      plainArray(meters.map(({ images }) => images)),
      textArray(meters.map(extraUsageText)),
      plainArray(owed),
    ];
  }

  async #owed(used: Parameters<typeof owedFor>[0]): Promise<(number | undefined)[]> {
    try {
      const costs = await owedFor(used, this.#issued, this.#controlPool);
      return costs.map((one) => one?.owed);
    } catch (error) {
      throw unavailable(String(error), error);
    }
  }

  #reportOverruns(rows: readonly ClosedRow[]): void {
    for (const { id, model, excess } of rows) {
      if (excess > 0) this.#log.error('overrun', { request: id, model, overrunNanoUsd: excess });
    }
  }

  async #call<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    try {
      return await this.#controlPool.call<Row>(statement, values);
    } catch (error) {
      throw unavailable(String(error), error);
    }
  }

  #remember(requests: readonly AdmissionRequest[], admissions: readonly (Admission | undefined)[]): void {
    this.#issued.remember(requests, admissions, Math.round(Date.now() + this.#offsetMs()));
  }

  readonly #read: ArchivingStore['read'] = async <Row>(
    sql: string,
    values: readonly (string | number)[],
  ): Promise<Row[]> => {
    try {
      return await this.#queries.read<Row & object>(sql, values);
    } catch (error) {
      throw unavailable(String(error), error);
    }
  };

  #offsetUs(): number {
    return Math.round(this.#offsetMs() * 1000);
  }
}

interface Identified {
  readonly snapshot: AccountSnapshot | undefined;
}

const LEASE_MS = 120_000;
const RENEW_TOGETHER = 500;
const ARCHIVE_TOGETHER = 1_000;
const EXPIRE_TOGETHER = 100;

const HEARTBEAT: Statement = {
  name: 'ledger_heartbeat',
  text: `INSERT INTO setting (key, value, updated_at) VALUES ('heartbeat', '', ${NOW_MS})
    ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at`,
};

const RENEW: Statement = {
  name: LEDGER_RENEW.name,
  text: `SELECT * FROM ${LEDGER_RENEW.name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
};

/** In milliseconds, by the database's clock. */
const NOW = `(${nowUsSql('$1::bigint')}) / 1000`;

/** Of several nodes that try this at once, one gets the row: the others see its new lease. */
const ADOPT: Statement = {
  name: 'ledger_adopt',
  text: `UPDATE hold SET lease_until = ${NOW} + $2::bigint, node = $3
    WHERE id = $4 AND lease_until <= ${NOW} RETURNING id`,
};

const GIVE_UP: Statement = {
  name: 'ledger_give_up',
  text: `UPDATE hold SET lease_until = ${NOW} WHERE id = ANY ($2::text[])`,
};
