import { losses, MARGIN_GROUPS, marginRows, type MarginRow } from '../activity/margin.ts';
import { IN_PLACE } from '../activity/reader.ts';

import { DAY_MS, dayOf } from '../std/calendar.ts';
import { plural } from '../std/plural.ts';
import {
  JSON_FLAG,
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

export const marginCommand: CliCommand = {
  name: 'margin',
  usage: '[--by day|model|backend|group] [--days N] [--json]',
  about: 'show revenue and cost, and the latest requests that lost money',
  flags: { ...JSON_FLAG, by: { type: 'string' }, days: { type: 'string' } },
  minArguments: 0,
  run: margin,
};

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
        charged_usd: signedUsd(row.charged),
        costed_usd: signedUsd(row.costed),
        cost_usd: signedUsd(row.cost),
        possible_cost_usd: signedUsd(row.possibleCost),
        margin_usd: signedUsd(row.margin),
      })),
      losses: lost.map((row) => ({
        request: row.id,
        model: row.model,
        backend: row.upstream,
        charged_usd: signedUsd(row.charged),
        cost_usd: signedUsd(row.cost ?? 0),
        possible_cost_usd: signedUsd(row.possible_cost),
      })),
    };
    printResult(input, context, value, [
      ...rows.map((row) => marginLine({ ...row, key: shownKey(group, row.key) })),
      ...(rows.length === 0 ? ['No requests in these days.'] : []),
      ...lost.map(
        ({ id, model, charged, cost, possible_cost }) =>
          `below zero: ${id} ${model}, charged $${signedUsd(charged)}, cost $${signedUsd(cost ?? 0)}, possibly $${signedUsd(possible_cost)} more`,
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
  return `${name}: ${plural(requests, 'request')}, charged $${signedUsd(charged)}; of $${signedUsd(costed)} with a known cost: cost $${signedUsd(cost)}, possibly $${signedUsd(possibleCost)} more, margin $${signedUsd(margin)}${margin < 0 ? ' (below zero)' : ''}`;
}

/** Nano-USD as dollars. Signed, unlike an amount of money. */
export function signedUsd(nano: number): string {
  const [whole = '0', fraction = ''] = (Math.abs(nano) / 1_000_000_000).toFixed(9).split('.');
  return `${nano < 0 ? '-' : ''}${whole}.${fraction.replace(/0+$/, '').padEnd(2, '0')}`;
}
