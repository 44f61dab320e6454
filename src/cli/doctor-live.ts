import type { Catalog } from '../catalog/catalog.ts';
import { formatUsd, nanoUsd, parseUsd, type NanoUsd } from '../std/money.ts';
import { plural } from '../std/plural.ts';
import {
  textFlag,
  UsageError,
  type LiveResult,
  type LiveUsage,
  type CliContext,
  type CommandInput,
} from './command.ts';

const DEFAULT_MOST = '0.05';

/**
 * `tollgate doctor --live [BACKEND]`: real requests to a backend, or to each. 0: everything that was asked for came; 1:
 * something failed, or nothing could be asked for.
 */
export async function doctorLive(input: CommandInput, context: CliContext): Promise<number> {
  const most = spendingLimit(input);
  return await context.withCatalog(async ({ text, parse }) => {
    const catalog = parse(text);
    const backends = chosenBackends(input, catalog);
    let left = most;
    const checked: { backend: string; results: readonly LiveResult[] }[] = [];
    for (const backend of backends) {
      const results = await context.liveCheck({
        catalog,
        backend,
        model: textFlag(input, 'model'),
        most: left,
      });
      left = nanoUsd(Math.max(0, left - spentBy(results)));
      checked.push({ backend, results });
    }
    const spent = nanoUsd(most - left);
    if (input.flags['json'] === true) context.print(JSON.stringify(shown(checked, spent, most)));
    else for (const line of lines(checked, spent, most)) context.print(line);
    const all = checked.flatMap(({ results }) => results);
    return all.some(({ kind }) => kind === 'failed') || all.every(({ kind }) => kind === 'skipped') ? 1 : 0;
  });
}

function spendingLimit(input: CommandInput): NanoUsd {
  const text = textFlag(input, 'max-usd') ?? DEFAULT_MOST;
  const most = parseUsd(text);
  if (most === undefined || most === 0)
    throw new UsageError('--max-usd must be an amount of US dollars such as 0.05.');
  return most;
}

/** The built-in backend is checked only when it is named. */
function chosenBackends({ arguments: [name] }: CommandInput, { upstreams }: Catalog): string[] {
  if (name === undefined) {
    const remote = [...upstreams.values()].filter(({ kind }) => kind !== 'house').map((one) => one.name);
    if (remote.length === 0) throw new UsageError('The catalog has no backend but the built-in one.');
    return remote;
  }
  if (!upstreams.has(name))
    throw new UsageError(`There is no backend '${name}'; known: ${[...upstreams.keys()].join(', ')}.`);
  return [name];
}

/** What may have been billed: never more than was held. */
function spentBy(results: readonly LiveResult[]): number {
  return results.reduce((sum, { cost, held }) => sum + Math.min(cost, held), 0);
}

type Checked = readonly { readonly backend: string; readonly results: readonly LiveResult[] }[];

function shown(checked: Checked, spent: NanoUsd, most: NanoUsd): unknown {
  return {
    max_usd: formatUsd(most),
    spent_usd: formatUsd(spent),
    backends: checked.map(({ backend, results }) => ({
      backend,
      checks: results.map((result) => ({
        check: result.name,
        model: result.model ?? null,
        result: result.kind,
        reason: result.kind === 'passed' ? null : result.reason,
        held_usd: formatUsd(result.held),
        cost_usd: formatUsd(result.cost),
        reported_usage: result.kind === 'skipped' || !result.usage ? null : usageFields(result.usage),
        duration_ms: result.durationMs,
      })),
    })),
  };
}

function usageFields(usage: LiveUsage): unknown {
  const { input, cached, output, reasoning, images, reportedCost } = usage;
  return {
    input: input ?? null,
    cached: cached ?? null,
    output: output ?? null,
    reasoning: reasoning ?? null,
    images: images ?? null,
    cost_usd: reportedCost === undefined ? null : formatUsd(reportedCost),
  };
}

const HEAD = ['check', 'model', 'result', 'held', 'cost', 'reported by the provider', 'time'];

function lines(checked: Checked, spent: NanoUsd, most: NanoUsd): string[] {
  const tables = checked.flatMap(({ backend, results }) => [
    `backend ${backend}`,
    ...table([HEAD, ...results.map(row)]),
    ...results.flatMap((result) =>
      result.kind === 'passed'
        ? []
        : [`  ${result.kind === 'failed' ? '✗' : '•'} ${result.name}: ${result.reason}`],
    ),
  ]);
  return [...tables, `spent $${formatUsd(spent)} of at most $${formatUsd(most)}`];
}

function row(result: LiveResult): string[] {
  const mark = { passed: '✓ passed', failed: '✗ failed', skipped: '• skipped' }[result.kind];
  if (result.kind === 'skipped') return [result.name, result.model ?? '', mark, '', '', '', ''];
  return [
    result.name,
    result.model ?? '',
    mark,
    `$${formatUsd(result.held)}`,
    `$${formatUsd(result.cost)}`,
    result.usage ? usageText(result.usage) : 'nothing',
    `${result.durationMs} ms`,
  ];
}

function usageText(usage: LiveUsage): string {
  const { input, cached, output, reasoning, images, reportedCost } = usage;
  const parts = [
    ...(input === undefined ? ['no usage'] : [`${input} in`]),
    ...(cached ? [`${cached} cached`] : []),
    ...(output === undefined ? [] : [`${output} out`]),
    ...(reasoning ? [`${reasoning} reasoning`] : []),
    ...(images ? [plural(images, 'image')] : []),
    ...(reportedCost === undefined ? [] : [`$${formatUsd(reportedCost)}`]),
  ];
  return parts.join(', ');
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((cells) => (cells[column] ?? '').length)));
  return rows.map((cells) =>
    `  ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd(),
  );
}
