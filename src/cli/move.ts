import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { secretFiles } from '../identity/accounts/secret.ts';
import type { Breach, Ledger } from '../ledger/port.ts';
import { plural } from '../std/plural.ts';
import { connectedNodes } from '../store/other-nodes.ts';
import { MoveStopped } from '../store/move/copy.ts';
import { deleteMark, isUnfinished, MoveUnderWay, readMark } from '../store/move/mark.ts';
import { claimTarget, Move, MoveRefusal, type MoveParts } from '../store/move/move.ts';
import { DATABASE_FILE } from '../store/sqlite-backup.ts';
import { recordCommand } from './audited.ts';
import {
  CommandRefused,
  JSON_FLAG,
  NotFoundError,
  printResult,
  ServerUnavailable,
  textFlag,
  UsageError,
  type CliCommand,
  type CliContext,
  type CliServices,
  type CommandInput,
} from './command.ts';

export const moveCommand: CliCommand = {
  name: 'move',
  usage: '[--to POSTGRES_URL] [--json] | --undo --yes [--json]',
  about:
    'move everything from SQLite to an empty Postgres while no server runs, and compare both. Exit code 1 if they differ. The target is --to or DATABASE_URL. Run it again to continue after an interruption. The data folder is closed afterwards; --undo reopens it',
  flags: { ...JSON_FLAG, to: { type: 'string' }, undo: { type: 'boolean' }, yes: { type: 'boolean' } },
  minArguments: 0,
  run: async (input, context) =>
    input.flags['undo'] === true ? await undo(input, context) : await move(input, context),
};

async function move(input: CommandInput, context: CliContext): Promise<number> {
  const url = textFlag(input, 'to') ?? context.env['DATABASE_URL'] ?? '';
  const target = nameOf(url);
  requireDatabase(context);
  const release = await reaching(target, () => claimTarget(url));
  if (release === undefined)
    throw new CommandRefused(`A move into ${target} is under way. Wait until it has ended.`);
  try {
    await requireNoNodes(url, target);
    return await refusing(() => moveTo({ url, target }, input, context));
  } finally {
    await release();
  }
}

async function moveTo(
  { url, target }: { readonly url: string; readonly target: string },
  input: CommandInput,
  context: CliContext,
): Promise<number> {
  return await context.withMovedFolder(async (source) => {
    const claimed = await claimedFolder(source);
    // What nobody will close any more is closed as a node would; a move that was begun has done so.
    if ((await readMark(source.store.db)) === undefined) await source.ledger.expire();
    return await context.withMoveTarget(url, async (opened) => {
      const { backend } = opened.store;
      if (backend.kind !== 'postgres') throw new UsageError('--to takes the address of a Postgres database.');
      const parts: MoveParts = {
        source: claimed,
        target: { store: opened.store, backend },
        files: filesOf(source),
        names: { source: context.dataDirAsOwner(), target },
        now: () => context.clock.now(),
        record: async (store) => {
          const record = { action: 'store.move', target: '', detail: { to: target } };
          await recordCommand(store, record, { input, context });
        },
      };
      return await run(input, context, { parts, source, target: opened.ledger });
    });
  });
}

interface Sides {
  readonly parts: MoveParts;
  readonly source: CliServices;
  readonly target: Ledger;
}

async function run(
  input: CommandInput,
  context: CliContext,
  { parts, source, target }: Sides,
): Promise<number> {
  const startedAt = performance.now();
  const begun = await Move.open(parts);
  const tell = input.flags['json'] === true ? () => undefined : context.warn;
  if (begun.isResumed) tell('Going on with the move that was interrupted.');
  const { rows, missingFiles, differences } = await begun.copyAndCompare(progressLines(tell));
  tell(`${differences.compared} counts and sums compared. Checking the books on both sides.`);
  // In this order: what is only a matter of time is then found on the second side too.
  const options = { full: true, longestRequestMs: await source.longestRequestMs() };
  const { breaches, checked } = await target.verify(options);
  const before = (await source.ledger.verify(options)).breaches;
  const known = new Set(before.map(sentenceOf));
  for (const breach of breaches.map(sentenceOf))
    if (!known.has(breach)) differences.add(`verify, in Postgres only: ${breach}`);
  const isSame = differences.count === 0;
  if (isSame) await begun.finish();
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  printResult(
    input,
    context,
    {
      ok: isSame,
      to: parts.names.target,
      rows,
      seconds,
      compared: differences.compared,
      differences: differences.named,
      breaches_before: before,
      missing_image_files: missingFiles,
    },
    [
      ...(missingFiles > 0
        ? [`${plural(missingFiles, 'image')} had no file any more; the links answer 404, as before.`]
        : []),
      ...before.map((breach) => `The books had this before the move: ${sentenceOf(breach)}`),
      ...(isSame
        ? doneLines(context, parts, { rows, seconds, checked, compared: differences.compared })
        : differentLines(differences.count, differences.named)),
    ],
  );
  return isSame ? 0 : 1;
}

function doneLines(
  context: CliContext,
  { names }: MoveParts,
  done: {
    readonly rows: number;
    readonly seconds: number;
    readonly compared: number;
    readonly checked: { readonly accounts: number; readonly entries: number; readonly requests: number };
  },
): string[] {
  const { accounts, requests } = done.checked;
  const given = context.env['TOLLGATE_SECRET'];
  const secret =
    given === undefined || given.trim() === ''
      ? `the content of ${secretFiles(context.dataDirAsOwner()).current}`
      : 'the same as here';
  return [
    `Moved to ${names.target} in ${done.seconds} s: ${plural(done.rows, 'row')}, with ${plural(accounts, 'account')} and ${plural(requests, 'request')}. ${done.compared} counts and sums are the same on both sides, and so is what verify says.`,
    'Set on every node, then start them:',
    '  DATABASE_URL     the address of that database',
    `  TOLLGATE_SECRET  ${secret}; with another one no token works`,
    `The data folder ${names.source} is closed, so that nobody serves from it by mistake. To go back, stop every node and run: tollgate move --undo --yes`,
  ];
}

function differentLines(count: number, named: readonly string[]): string[] {
  return [
    ...named,
    ...(count > named.length ? [`and ${count - named.length} more`] : []),
    `${plural(count, 'difference')}. The move is not finished, and neither side can be served. Empty the database (dropdb, createdb) and run it again, or give it up: tollgate move --undo --yes`,
  ];
}

const PROGRESS_MS = 2_000;

/** A line for each table that has rows, and one every few seconds while one takes long. */
function progressLines(tell: (line: string) => void): Parameters<Move['copyAndCompare']>[0] {
  let toldAt = performance.now();
  return ({ table, rows, of }) => {
    const now = performance.now();
    if (of === 0 || (rows < of && now - toldAt < PROGRESS_MS)) return;
    toldAt = now;
    tell(`${table}: ${rows.toLocaleString('en')} of ${of.toLocaleString('en')}`);
  };
}

function sentenceOf({ invariant, subject, detail }: Breach): string {
  return `${invariant} ${subject}: ${detail}`;
}

async function undo(input: CommandInput, context: CliContext): Promise<number> {
  if (input.flags['yes'] !== true)
    throw new UsageError(
      'Nothing was changed. What was charged or paid in Postgres since the move is not in the data folder. Stop every node there, and add --yes to serve from the data folder again.',
    );
  requireDatabase(context);
  return await refusing(() =>
    context.withMovedFolder(async (source) => {
      const { store } = await claimedFolder(source);
      const mark = await readMark(store.db);
      if (mark?.side !== 'source')
        throw new NotFoundError('This data folder is not being moved, and was not.');
      await store.db.transaction().execute(async (db) => {
        await deleteMark(db);
        const record = { action: 'store.move-undo', target: '', detail: { to: mark.to } };
        await recordCommand({ db }, record, { input, context });
      });
      await store.durable();
      printResult(input, context, { to: mark.to, finished: mark.finishedAt !== undefined }, [
        `The data folder can be served again. Do not serve from ${mark.to} any more: every balance is in both.`,
      ]);
      return 0;
    }),
  );
}

function requireDatabase(context: CliContext): void {
  const path = join(context.dataDirAsOwner(), DATABASE_FILE);
  if (!existsSync(path)) throw new NotFoundError(`There is no database at ${path}.`);
}

async function claimedFolder({ store }: CliServices): Promise<MoveParts['source']> {
  const { backend } = store;
  if (backend.kind !== 'sqlite') throw new Error('the data folder has no SQLite database');
  if (backend.claim()) return { store, backend };
  const mark = await readMark(store.db);
  // A server refuses a folder with this mark, so it is another move that has it.
  if (isUnfinished(mark)) throw new MoveUnderWay(mark);
  throw new CommandRefused(
    'A server is running on this data folder. Stop it first, or wait for a move that has just begun.',
  );
}

function filesOf({ imageStorages }: CliServices): MoveParts['files'] {
  const files = imageStorages.find(({ place }) => place === 'files');
  if (!files) throw new Error('the data folder has no place for images');
  return files;
}

/** The address without its password and options. */
function nameOf(url: string): string {
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError(
      'Name the database: --to postgres://user:password@host:5432/database, or DATABASE_URL.',
    );
  const { protocol, username, host, pathname } = new URL(url);
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`;
}

async function requireNoNodes(url: string, name: string): Promise<void> {
  const nodes = await reaching(name, () => connectedNodes(url));
  if (nodes.length > 0)
    throw new CommandRefused(
      `Nodes are running on ${name}, connected from ${nodes.join(', ')}. A data folder is moved to an empty database that nobody uses.`,
    );
}

async function reaching<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new ServerUnavailable(
      `Cannot use ${name}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof MoveRefusal || error instanceof MoveUnderWay)
      throw new CommandRefused(error.message);
    if (error instanceof MoveStopped)
      throw new ServerUnavailable(`The move stopped ${error.message}. Run it again to continue.`);
    throw error;
  }
}
