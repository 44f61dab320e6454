import { RedeemCodes } from '../ledger/codes.ts';
import type { Verification } from '../ledger/port.ts';
import { receiptOf, receiptView } from '../ledger/receipt.ts';
import { formatUsd, parseUsd } from '../std/money.ts';
import { plural } from '../std/plural.ts';
import {
  JSON_FLAG,
  NotFoundError,
  textFlag,
  UsageError,
  type CliContext,
  type CliCommand,
  type CommandInput,
} from './command.ts';

export const ledgerCommands: readonly CliCommand[] = [
  {
    name: 'verify',
    usage: '[--full] [--json]',
    about:
      'check every invariant of the ledger. Exit code 1 if one is violated. Older days are checked by their sums; --full reads every receipt',
    flags: { ...JSON_FLAG, full: { type: 'boolean' } },
    minArguments: 0,
    run: verify,
  },
  {
    name: 'receipt',
    usage: 'REQUEST_ID [--json]',
    about: 'show what a request cost, and why',
    flags: JSON_FLAG,
    minArguments: 1,
    run: receipt,
  },
  {
    name: 'codes make',
    usage: 'USD COUNT [--batch NAME] [--days N] [--key KEY] [--json]',
    about:
      'create redeem codes and print them, which are shown only once. With the same --key they are made once and printed again, for a day',
    flags: { ...JSON_FLAG, batch: { type: 'string' }, days: { type: 'string' }, key: { type: 'string' } },
    minArguments: 2,
    audit: (input) => ({
      action: 'codes.make',
      isAboutAccount: false,
      detail: {
        amountUsd: input.arguments[0],
        count: input.arguments[1],
        batch: textFlag(input, 'batch'),
        days: textFlag(input, 'days'),
      },
    }),
    run: makeCodes,
  },
];

/** How much was checked; the console says the same. */
export function checkedText({ accounts, entries, requests }: Verification['checked']): string {
  return `${plural(accounts, 'account')}, ${plural(entries, 'entry', 'entries')}, ${plural(requests, 'request')}`;
}

async function verify(input: CommandInput, context: CliContext): Promise<number> {
  return await context.withServices(async (services) => {
    const { checked, breaches } = await services.ledger.verify({
      full: input.flags['full'] === true,
      longestRequestMs: await services.longestRequestMs(),
    });
    const ok = breaches.length === 0;
    if (input.flags['json'] === true) {
      context.print(JSON.stringify({ ok, checked, breaches }));
    } else {
      context.print(checkedText(checked));
      for (const { invariant, subject, detail } of breaches)
        context.print(`${invariant} ${subject}: ${detail}`);
      context.print(ok ? 'The ledger is consistent.' : plural(breaches.length, 'violated invariant'));
    }
    return ok ? 0 : 1;
  });
}

async function receipt(input: CommandInput, context: CliContext): Promise<number> {
  const [id = ''] = input.arguments;
  return await context.withServices(async ({ store }) => {
    const row = await store.db.selectFrom('request').selectAll().where('id', '=', id).executeTakeFirst();
    if (!row) throw new NotFoundError(`There is no request '${id}'.`);
    const view = receiptView(receiptOf(row));
    if (input.flags['json'] === true) context.print(JSON.stringify(view));
    else for (const line of receiptLines(view)) context.print(line);
    return 0;
  });
}

function receiptLines(view: ReturnType<typeof receiptView>): string[] {
  const lines = view.lines.map(
    ({ item, quantity, unit_price_usd, per, amount_usd }) =>
      `  ${item.padEnd(13)} ${quantity} × $${unit_price_usd}${per === 1 ? '' : ` per ${per.toLocaleString('en')}`} = $${amount_usd}`,
  );
  const attempts = view.attempts.map(
    ({ backend, result, reason, duration_ms }) =>
      `  ${backend} ${result}${reason ? ` (${reason})` : ''} after ${duration_ms} ms`,
  );
  return [
    `${view.id}  ${view.endpoint}/${view.model}  ${view.state}, ${view.outcome ?? 'running'}`,
    ...lines,
    `  held $${view.held_usd}, charged $${view.charged_usd}, usage source ${view.usage.source ?? 'none yet'}`,
    ...attempts,
  ];
}

const MS_PER_DAY = 86_400_000;

async function makeCodes(input: CommandInput, context: CliContext): Promise<number> {
  const amount = parseUsd(input.arguments[0] ?? '');
  const count = Number(input.arguments[1]);
  const days = textFlag(input, 'days');
  const key = textFlag(input, 'key');
  if (amount === undefined) throw new UsageError(`'${input.arguments[0]}' is not an amount in dollars.`);
  if (days !== undefined && !(Number(days) > 0))
    throw new UsageError('--days takes a number greater than 0.');
  return await context.withServices(async ({ store, ledger, secret }) => {
    const codes = new RedeemCodes({ store, ledger, key: secret.key('codes'), clock: context.clock });
    const batch = await codes.make({
      amount,
      count,
      batch: textFlag(input, 'batch'),
      expiresAt: days === undefined ? undefined : context.clock.now() + Number(days) * MS_PER_DAY,
      actor: 'cli',
      once: key === undefined ? undefined : `cli:${key}`,
    });
    if (input.flags['json'] === true)
      context.print(JSON.stringify({ ...batch, amount_usd: Number(formatUsd(amount)) }));
    else for (const code of batch.codes) context.print(code);
    return 0;
  });
}
