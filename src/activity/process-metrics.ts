import type { LedgerLoad } from '../ledger/port.ts';
import type { DistributionSample } from '../std/distribution.ts';
import { openFileCount } from '../std/open-files.ts';
import type { Release } from '../std/release.ts';
import {
  counterFamily,
  gaugeFamily,
  histogramFamily,
  labelText,
  type MetricFamily,
} from './metric-family.ts';

/** What is read when somebody asks; a part that fails is left out, and the others are still shown. */
export interface ProcessParts {
  readonly release: Release;
  readonly startedAtMs: number;
  /** How many files this process may have open. */
  readonly maxFiles?: number | undefined;
  readonly openHolds: () => Promise<number>;
  /** By kind: messages that have not left yet. */
  readonly messagesWaiting?: (() => Promise<Readonly<Record<string, number>>>) | undefined;
  readonly backends: () => readonly BackendSample[];
  /** Requests under way in this process. */
  readonly inFlight?: (() => number) | undefined;
  /** How late the event loop is. */
  readonly eventLoop?: (() => DistributionSample) | undefined;
  readonly ledgerLoad?: (() => LedgerLoad) | undefined;
  /** Whether a request could be served now, as far as the store is concerned. */
  readonly storeAnswers?: (() => Promise<boolean>) | undefined;
  /** How old the newest backup is; `undefined` if none was made. */
  readonly backupAgeMs?: (() => Promise<number | undefined>) | undefined;
  /** Space on the disk of the data folder; `undefined` without a folder. */
  readonly diskSpace?: (() => DiskSample | undefined) | undefined;
  /** How much work waits, by the queue's name. */
  readonly queues?: (() => Readonly<Record<string, number>>) | undefined;
  /** When the certificate that is served ends; `undefined` without one. */
  readonly certificateEndsAt?: (() => number | undefined) | undefined;
  /** How far this machine's clock is ahead of the database's. */
  readonly clockAheadMs?: (() => number) | undefined;
  /** By the name of a set-up check: 1 if it found a problem. */
  readonly setupProblems?: (() => Readonly<Record<string, number>>) | undefined;
}

interface DiskSample {
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

interface BackendSample {
  readonly name: string;
  readonly state: string;
}

const BACKEND_STATES = ['ok', 'failing', 'resting', 'probing'];
/** A scrape must have its answer in time, also while the store does not answer. */
const STORE_TIMEOUT_MS = 2_000;

export async function processFamilies(parts: ProcessParts): Promise<MetricFamily[]> {
  return [
    ...(await storeFamilies(parts)),
    oneGauge('tollgate_requests_in_flight', 'Requests under way.', parts.inFlight?.()),
    backendFamily(parts.backends()),
    ...loadFamilies(parts),
    eventLoopFamily(parts.eventLoop?.()),
    certificateFamily(parts.certificateEndsAt?.()),
    setupFamily(parts.setupProblems?.() ?? {}),
    clockFamily(parts.clockAheadMs?.()),
    ...diskFamilies(parts.diskSpace?.()),
    ...runtimeFamilies(parts),
  ];
}

/** The same on all nodes, because they are read from the store. */
async function storeFamilies(parts: ProcessParts): Promise<MetricFamily[]> {
  const { openHolds, messagesWaiting, storeAnswers, backupAgeMs } = parts;
  const late = Bun.sleep(STORE_TIMEOUT_MS).then(() => undefined);
  const inTime = <T>(read: (() => Promise<T>) | undefined): Promise<T | undefined> =>
    Promise.race([read?.().catch(() => undefined), late]);
  const [holds, messages, answers, backupAge] = await Promise.all([
    inTime(openHolds),
    inTime(messagesWaiting),
    inTime(storeAnswers),
    inTime(backupAgeMs),
  ]);
  const waiting = Object.entries(messages ?? {}).map(([kind, count]) => [`{kind="${kind}"}`, count] as const);
  return [
    oneGauge('tollgate_holds_open', 'Requests that hold money right now, on all nodes.', holds, 'max'),
    gaugeFamily('tollgate_outbox_waiting', 'Messages that have not left yet, on all nodes.', waiting, 'max'),
    oneGauge(
      'tollgate_store_up',
      'Whether the store takes what a request writes.',
      storeAnswers && (answers === true ? 1 : 0),
      'min',
    ),
    oneGauge(
      'tollgate_backup_age_seconds',
      'How long ago the newest backup was made; no value before the first.',
      backupAge === undefined ? undefined : Math.round(backupAge / 1000),
      'max',
    ),
  ];
}

function backendFamily(backends: readonly BackendSample[]): MetricFamily {
  const samples = backends.flatMap(({ name, state }) =>
    BACKEND_STATES.map(
      (one) => [`{${labelText({ backend: name, state: one })}}`, one === state ? 1 : 0] as const,
    ),
  );
  return gaugeFamily('tollgate_backend_state', 'In how many processes a backend is in each state.', samples);
}

function loadFamilies({ ledgerLoad, queues }: ProcessParts): MetricFamily[] {
  const { batches, connections } = ledgerLoad?.() ?? { batches: [], connections: [] };
  const waiting = { ...Object.fromEntries(batches.map((one) => [one.name, one.waiting])), ...queues?.() };
  const poolSamples = connections.flatMap(({ name, total, idle, waiting: calls }) =>
    Object.entries({ busy: total - idle, idle, waiting: calls }).map(
      ([state, count]) => [`{${labelText({ pool: name, state })}}`, count] as const,
    ),
  );
  return [
    histogramFamily(
      'tollgate_ledger_batch_seconds',
      'How long the database took for operations of the ledger that went to it together.',
      batches.map(({ name, durations }) => ({ labels: labelText({ queue: name }), values: durations })),
    ),
    histogramFamily(
      'tollgate_ledger_batch_size',
      'How many operations of the ledger went to the database together.',
      batches.map(({ name, sizes }) => ({ labels: labelText({ queue: name }), values: sizes })),
    ),
    gaugeFamily(
      'tollgate_queue_length',
      'What waits to be done.',
      Object.entries(waiting).map(([queue, length]) => [`{${labelText({ queue })}}`, length]),
    ),
    gaugeFamily('tollgate_database_connections', 'Connections, and calls that wait for one.', poolSamples),
    counterFamily(
      'tollgate_database_turned_away_total',
      'Calls that got no connection to the database.',
      connections.map(({ name, turnedAway }) => [`{${labelText({ pool: name })}}`, turnedAway]),
    ),
  ];
}

function eventLoopFamily(values: DistributionSample | undefined): MetricFamily {
  const help = 'How late steps of the event loop began.';
  return histogramFamily('tollgate_event_loop_delay_seconds', help, values ? [{ labels: '', values }] : []);
}

function certificateFamily(endsAtMs: number | undefined): MetricFamily {
  const help = 'How long the certificate that is served is still valid.';
  const seconds = endsAtMs === undefined ? undefined : (endsAtMs - Date.now()) / 1000;
  return oneGauge('tollgate_certificate_remaining_seconds', help, seconds, 'min');
}

function setupFamily(problems: Readonly<Record<string, number>>): MetricFamily {
  const samples = Object.entries(problems).map(
    ([check, found]) => [`{${labelText({ check })}}`, found] as const,
  );
  return gaugeFamily(
    'tollgate_setup_problem',
    'Whether a check of the set-up found a problem.',
    samples,
    'max',
  );
}

function clockFamily(aheadMs: number | undefined): MetricFamily {
  const help = "How far this machine's clock is ahead of the database's; negative if it is behind.";
  const seconds = aheadMs === undefined ? undefined : Math.round(aheadMs) / 1000;
  return oneGauge('tollgate_clock_ahead_seconds', help, seconds, 'max');
}

/** Workers share the folder. */
function diskFamilies(space: DiskSample | undefined): MetricFamily[] {
  return [
    oneGauge('tollgate_data_free_bytes', 'Free disk space of the data folder.', space?.freeBytes, 'min'),
    oneGauge('tollgate_data_size_bytes', 'Size of the disk of the data folder.', space?.sizeBytes, 'min'),
  ];
}

const MICROSECONDS = 1_000_000;

function runtimeFamilies({ release, startedAtMs, maxFiles }: ProcessParts): MetricFamily[] {
  const { version, commit } = release;
  const build = labelText({ version, commit: commit ?? '', runtime: `bun ${Bun.version}` });
  return [
    gaugeFamily('tollgate_build_info', 'What is running.', [[`{${build}}`, 1]], 'max'),
    oneGauge('tollgate_processes', 'Processes that serve requests on this port.', 1),
    counterFamily('process_cpu_seconds_total', 'Processor time, of all threads.', [['', cpuSeconds()]]),
    oneGauge('process_resident_memory_bytes', 'Memory.', process.memoryUsage.rss()),
    oneGauge('process_open_fds', 'Open files and connections.', openFileCount()),
    oneGauge('process_max_fds', 'How many files and connections may be open.', maxFiles),
    oneGauge('process_start_time_seconds', 'When it started.', Math.floor(startedAtMs / 1000), 'min'),
  ];
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / MICROSECONDS;
}

/** Without a value it is named all the same, so that a mistake in a dashboard can be told from a value that is not there. */
function oneGauge(
  name: string,
  help: string,
  value: number | undefined,
  merge?: MetricFamily['merge'],
): MetricFamily {
  return gaugeFamily(name, help, value === undefined ? [] : [['', value]], merge);
}
