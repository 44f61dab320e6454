import { losses, MARGIN_GROUPS, marginRows, type MarginRow } from '../activity/margin.ts';
import { IN_PLACE } from '../activity/reader.ts';
import { ExportError, readProviderExport, type ProviderExport } from '../activity/provider-export.ts';
import { reconcile, type Reconciled } from '../activity/reconcile.ts';
import { DAY_MS } from '../activity/usage.ts';
import { dayOf } from '../std/calendar.ts';
import { plural } from '../std/plural.ts';
import {
  JSON_FLAG,
  NotFoundError,
  printResult,
  textFlag,
  UsageError,
  type CliCommand,
  type CliContext,
  type CommandInput,
} from './command.ts';

const DEFAULT_DAYS = 30;
const MAX_DAYS = 3_660;
const SHOWN_LOSSES = 20;
const MAX_FILE_BYTES = 64 * 1_048_576;

export const marginCommands: readonly CliCommand[] = [
  {
    name: 'margin',
    usage: '[--by day|model|backend] [--days N] [--json]',
    about:
      'show what requests brought beside what they cost, and the latest that cost more than they brought',
    flags: { ...JSON_FLAG, by: { type: 'string' }, days: { type: 'string' } },
    minArguments: 0,
    run: margin,
  },
  {
    name: 'reconcile',
    usage: 'FILE [--upstream NAME] [--json]',
    about:
      "compare a provider's usage or cost export (OpenAI's or Anthropic's JSON) with the receipts, by day and model",
    flags: { ...JSON_FLAG, upstream: { type: 'string' } },
    minArguments: 1,
    run: reconcileFile,
  },
];

async function margin(input: CommandInput, context: CliContext): Promise<number> {
  const text = textFlag(input, 'by') ?? 'day';
  const group = MARGIN_GROUPS.find((known) => known === text);
  if (!group) throw new UsageError(`--by must be one of ${MARGIN_GROUPS.join(', ')}.`);
  const days = Number(textFlag(input, 'days') ?? DEFAULT_DAYS);
  if (!Number.isInteger(days) || days < 1 || days > MAX_DAYS)
    throw new UsageError(`--days must be a whole number from 1 to ${MAX_DAYS}.`);
  const now = context.clock.now();
  return await context.withServices(async ({ store }) => {
    const rows = await marginRows(
      { store, reader: IN_PLACE },
      { from: dayOf(now - (days - 1) * DAY_MS), to: dayOf(now) },
      group,
    );
    const lost = await losses(store.db, SHOWN_LOSSES).execute();
    const value = {
      by: group,
      days,
      rows: rows.map((row) => ({
        [group]: shownKey(group, row.key),
        requests: row.requests,
        charged_usd: usd(row.charged),
        costed_usd: usd(row.costed),
        cost_usd: usd(row.cost),
        possible_cost_usd: usd(row.possibleCost),
        margin_usd: usd(row.margin),
      })),
      losses: lost.map((row) => ({
        request: row.id,
        model: row.model,
        backend: row.upstream,
        charged_usd: usd(row.charged),
        cost_usd: usd(row.cost ?? 0),
        possible_cost_usd: usd(row.possible_cost),
      })),
    };
    printResult(input, context, value, [
      ...rows.map((row) => marginLine({ ...row, key: shownKey(group, row.key) })),
      ...(rows.length === 0 ? ['No requests in these days.'] : []),
      ...lost.map(
        ({ id, model, charged, cost, possible_cost }) =>
          `below zero: ${id} ${model}, charged $${usd(charged)}, cost $${usd(cost ?? 0)}, possibly $${usd(possible_cost)} more`,
      ),
    ]);
    return 0;
  });
}

/** 20261130 → 2026-11-30 */
function shownKey(group: string, key: string): string {
  return group === 'day' ? `${key.slice(0, 4)}-${key.slice(4, 6)}-${key.slice(6)}` : key;
}

function marginLine({ key, requests, charged, costed, cost, possibleCost, margin }: MarginRow): string {
  const name = key === '' ? '(none)' : key;
  return `${name}: ${plural(requests, 'request')}, charged $${usd(charged)}; of $${usd(costed)} with a known cost: cost $${usd(cost)}, possibly $${usd(possibleCost)} more, margin $${usd(margin)}${margin < 0 ? ' (below zero)' : ''}`;
}

async function reconcileFile(input: CommandInput, context: CliContext): Promise<number> {
  const [path = ''] = input.arguments;
  const exported = await readExport(path);
  return await context.withServices(async ({ store }) => {
    const rows = await reconcile(store.db, exported, textFlag(input, 'upstream'));
    const unit = exported.kind === 'usage' ? 'tokens' : 'usd';
    const amount = (value: number): number | string => (unit === 'tokens' ? value : usd(value));
    const value = {
      unit,
      partial: exported.isPartial,
      rows: rows.map((row) => ({
        day: row.day,
        model: row.model,
        provider: amount(row.theirs),
        books: amount(row.ours),
        difference: amount(row.difference),
        cache_writes: amount(row.cacheWrites),
        retries: amount(row.retries),
        cut_streams: amount(row.cutStreams),
        unknown: amount(row.unknown),
      })),
    };
    const partial = exported.isPartial
      ? ['The export has further pages; what they contain is not compared.']
      : [];
    printResult(input, context, value, [...rows.map((row) => reconciledLine(row, amount, unit)), ...partial]);
    return 0;
  });
}

function reconciledLine(row: Reconciled, amount: (value: number) => number | string, unit: string): string {
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

async function readExport(path: string): Promise<ProviderExport> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new NotFoundError(`There is no file '${path}'.`);
  if (file.size > MAX_FILE_BYTES)
    throw new UsageError('The file has more than 64 MB; export fewer days at once.');
  try {
    return readProviderExport(await file.text());
  } catch (error) {
    throw error instanceof ExportError ? new UsageError(`${path}: ${error.message}`) : error;
  }
}

/** Signed, unlike an amount of money. */
function usd(nano: number): string {
  const [whole = '0', fraction = ''] = (Math.abs(nano) / 1_000_000_000).toFixed(9).split('.');
  return `${nano < 0 ? '-' : ''}${whole}.${fraction.replace(/0+$/, '').padEnd(2, '0')}`;
}
