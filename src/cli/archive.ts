import { applyRetention, daysToArchive } from '../ledger/retention.ts';
import { formatUsd } from '../std/money.ts';
import { plural } from '../std/plural.ts';
import {
  JSON_FLAG,
  printResult,
  textFlag,
  UsageError,
  type CliCommand,
  type CliContext,
  type CliServices,
  type CommandInput,
} from './command.ts';

export const archiveCommand: CliCommand = {
  name: 'archive',
  usage: '[--days N] [--dry-run] [--json]',
  about:
    'archive receipts older than the retention, one charge for each account and day. The server also does this by itself. --dry-run only lists them',
  flags: { ...JSON_FLAG, days: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  minArguments: 0,
  audit: (input) =>
    input.flags['dry-run'] === true
      ? undefined
      : { action: 'ledger.archive', isAboutAccount: false, detail: { days: textFlag(input, 'days') } },
  run: archive,
};

const LEAST_DAYS = 35;

async function archive(input: CommandInput, context: CliContext): Promise<number> {
  return await context.withServices(async (services) => {
    const keepDays = await daysOf(input, services);
    return input.flags['dry-run'] === true
      ? await list(input, context, services, keepDays)
      : await run(input, context, services, keepDays);
  });
}

async function daysOf(input: CommandInput, services: CliServices): Promise<number> {
  const text = textFlag(input, 'days');
  if (text === undefined) {
    const configured = await services.receiptsDays();
    if (configured !== undefined) return configured;
    throw new UsageError(
      'No retention is configured, so receipts are kept for ever. Name --days, or retention.receipts_days in tollgate.yaml.',
    );
  }
  const days = Number(text);
  if (!Number.isInteger(days) || days < LEAST_DAYS)
    throw new UsageError(`--days takes a whole number from ${LEAST_DAYS}.`);
  return days;
}

async function list(
  input: CommandInput,
  context: CliContext,
  { ledger }: CliServices,
  keepDays: number,
): Promise<number> {
  let [days, requests] = [0, 0];
  for await (const one of daysToArchive(ledger, keepDays)) {
    days++;
    requests += one.requests;
    const { accountId: account, day, charged } = one;
    printResult(input, context, { account, day, requests: one.requests, charged_usd: formatUsd(charged) }, [
      `${day}  ${account}  ${plural(one.requests, 'request')}  $${formatUsd(charged)}`,
    ]);
  }
  if (input.flags['json'] !== true)
    context.print(`${plural(requests, 'receipt')} of ${plural(days, 'account-day')} would leave.`);
  return 0;
}

async function run(
  input: CommandInput,
  context: CliContext,
  { ledger }: CliServices,
  keepDays: number,
): Promise<number> {
  const { days, requests, refused } = await applyRetention(ledger, keepDays);
  printResult(input, context, { days, requests, refused }, [
    ...refused.map(
      ({ day, accountId, reason }) => `${day}  ${accountId}  stays: ${REASONS[reason] ?? reason}`,
    ),
    `${plural(requests, 'receipt')} of ${plural(days, 'account-day')} left, each day as one charge.`,
  ]);
  return refused.some(({ reason }) => reason === 'sums_differ') ? 1 : 0;
}

const REASONS: Readonly<Record<string, string>> = {
  open_hold: 'a request of that day is still running',
  sums_differ: 'its receipts are not what the sums of the day say; run tollgate verify --full',
};
