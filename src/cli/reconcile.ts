import { basename } from 'node:path';
import {
  scopeOfBackends,
  notBookable,
  reconcile,
  type Reconciled,
  type ReconcileScope,
  bookExport,
  type BookedModel,
} from '../activity/reconcile.ts';
import { ExportError, readProviderExport, type ProviderExport } from '../activity/provider-export.ts';
import {
  JSON_FLAG,
  NotFoundError,
  printResult,
  textFlag,
  UsageError,
  type CliCommand,
  type CliContext,
  type CliServices,
  type CommandInput,
} from './command.ts';
import { signedUsd } from './margin.ts';

const MAX_FILE_BYTES = 64 * 1_048_576;
const MAX_CAUSE = 200;

export const reconcileCommand: CliCommand = {
  name: 'reconcile',
  usage: 'FILE [--backend NAME[,NAME]] [--book] [--json]',
  about:
    "compare a provider's usage or cost export with the books, by day and model: JSON of OpenAI or Anthropic. --book books what it billed for failed attempts",
  flags: { ...JSON_FLAG, backend: { type: 'string' }, book: { type: 'boolean' } },
  minArguments: 1,
  audit: (input) =>
    input.flags['book'] === true
      ? {
          action: 'ledger.book-bill',
          isAboutAccount: false,
          detail: { file: causeOf(input), upstream: textFlag(input, 'backend') },
        }
      : undefined,
  run: reconcileFile,
};

async function reconcileFile(input: CommandInput, context: CliContext): Promise<number> {
  const exported = await readExport(input.arguments[0] ?? '');
  const isBooked = input.flags['book'] === true;
  if (isBooked) refuseUnbookable(input, exported);
  return await context.withServices(async (services) => {
    const scope = await scopeOf(input, services);
    const rows = await reconcile(services.store.db, exported, scope);
    const booking = {
      store: services.store,
      nowMs: context.clock.now(),
      actor: 'cli',
      cause: causeOf(input),
    };
    const booked = isBooked ? await bookExport(booking, rows, scope) : [];
    const unit = exported.kind === 'usage' ? 'tokens' : 'usd';
    const amount = (value: number): number | string => (unit === 'tokens' ? value : signedUsd(value));
    const value = {
      unit,
      partial: exported.isPartial,
      rows: rows.map((row) => rowView(row, amount)),
      ...(isBooked && { booked: booked.map(bookedView) }),
    };
    printResult(input, context, value, [
      ...rows.map((row) => reconciledLine(row, amount, unit)),
      ...booked.map(bookedLine),
      ...(isBooked && booked.length === 0 ? ['No failed attempts to book.'] : []),
      ...(exported.isPartial ? ['The export has further pages; what they contain is not compared.'] : []),
    ]);
    return 0;
  });
}

/** Booking another provider's bill would book too little. */
function refuseUnbookable(input: CommandInput, exported: ProviderExport): void {
  if (textFlag(input, 'backend') === undefined)
    throw new UsageError('--book needs --backend: the names of the backends whose bill it is.');
  const reason = notBookable(exported);
  if (reason !== undefined) throw new UsageError(reason);
}

async function scopeOf(input: CommandInput, services: CliServices): Promise<ReconcileScope> {
  const current = await services.catalog();
  const backends = textFlag(input, 'backend')
    ?.split(',')
    .map((name) => name.trim());
  const scope = await scopeOfBackends(services.store.db, current, backends);
  if (!('unknown' in scope)) return scope;
  const known = [...current.upstreams.keys()].join(', ');
  throw new NotFoundError(`There is no backend '${scope.unknown}'; there are: ${known}.`);
}

function causeOf(input: CommandInput): string {
  return basename(input.arguments[0] ?? '').slice(0, MAX_CAUSE);
}

type Shown = (value: number) => number | string;

function rowView(row: Reconciled, amount: Shown) {
  return {
    day: row.day,
    model: row.model,
    provider: amount(row.theirs),
    books: amount(row.ours),
    difference: amount(row.difference),
    cache_writes: amount(row.cacheWrites),
    retries: amount(row.retries),
    cut_streams: amount(row.cutStreams),
    unknown: amount(row.unknown),
  };
}

function reconciledLine(row: Reconciled, amount: Shown, unit: string): string {
  const parts = [
    ['cache writes', row.cacheWrites],
    ['retries', row.retries],
    ['cut streams', row.cutStreams],
    ['unknown', row.unknown],
  ] as const;
  const causes = parts.filter(([, value]) => value !== 0).map(([name, value]) => `${name} ${amount(value)}`);
  const why = causes.length === 0 ? '' : `: ${causes.join(', ')}`;
  return `${row.day} ${row.model}: provider ${amount(row.theirs)} ${unit}, books ${amount(row.ours)}, difference ${amount(row.difference)}${why}`;
}

function bookedView({ day, model, atMost, billed, kept }: BookedModel) {
  const at_most_usd = signedUsd(atMost);
  return kept === undefined
    ? { day, model, at_most_usd, billed_usd: signedUsd(billed), kept: null }
    : { day, model, at_most_usd, billed_usd: null, kept };
}

const KEPT_BECAUSE = {
  not_over: 'a day can be booked when it has been over for 24 hours',
  not_listed: 'the export does not have this model',
} as const;

function bookedLine({ day, model, atMost, billed, kept }: BookedModel): string {
  return kept === undefined
    ? `${day} ${model}: booked $${signedUsd(billed)} for failed attempts, which could have cost $${signedUsd(atMost)}`
    : `${day} ${model}: failed attempts may still cost $${signedUsd(atMost)}; ${KEPT_BECAUSE[kept]}`;
}

async function readExport(path: string): Promise<ProviderExport> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new NotFoundError(`There is no file '${path}'.`);
  if (file.size > MAX_FILE_BYTES) throw new UsageError('The file has more than 64 MB. Export fewer days.');
  try {
    return readProviderExport(await file.text());
  } catch (error) {
    throw error instanceof ExportError ? new UsageError(`${path}: ${error.message}`) : error;
  }
}
