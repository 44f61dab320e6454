import { existsSync } from 'node:fs';
import { hoursWithoutSetting } from '../activity/response-space.ts';
import { builtinCatalog } from '../catalog/builtin.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { CatalogError } from '../catalog/mistakes.ts';
import { openCatalog } from '../catalog/source.ts';
import { listenFailure } from '../std/startup-error.ts';
import { randomPart } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { openFileLimit } from '../std/open-files.ts';
import { plural } from '../std/plural.ts';
import type { ImageObjects } from '../store/image-objects.ts';
import { DEFAULT_CONNECTIONS } from '../store/postgres-address.ts';
import type { PostgresBackend } from '../store/store.ts';
import { discoverLocalServers } from '../upstream/local-servers.ts';
import { Pool } from '../upstream/pool.ts';
import { JSON_FLAG, UsageError, type CliContext, type CliCommand } from './command.ts';
import { doctorLive } from './doctor-live.ts';
import { serverAnswer } from './health.ts';
import { checkedText } from './ledger.ts';

export const doctorCommand: CliCommand = {
  name: 'doctor',
  usage: '[--live [BACKEND] [--max-usd 0.05] [--model ID]] [--json]',
  about:
    'check configuration, store, data folder, certificate, public address, mail server, payments and each backend. Find model servers on this machine. --live sends real requests',
  flags: {
    ...JSON_FLAG,
    live: { type: 'boolean' },
    'max-usd': { type: 'string' },
    model: { type: 'string' },
  },
  minArguments: 0,
  maxArguments: 1,
  run: async (input, context) => {
    if (input.flags['live'] === true) return await doctorLive(input, context);
    if (input.arguments.length > 0) throw new UsageError('A backend is named only with --live.');
    return input.flags['json'] === true ? await jsonDoctor(context) : await doctor(context);
  },
};

const RESULTS: Readonly<Record<string, string>> = { '✓': 'ok', '✗': 'failed', '•': 'note' };

/** The same lines, each check with what follows it as one object. */
async function jsonDoctor(context: CliContext): Promise<number> {
  const checks: { result: string; text: string }[] = [];
  const print = (line: string): void => {
    const last = checks.at(-1);
    const result = RESULTS[line[0] ?? ''];
    if (result !== undefined) checks.push({ result, text: line.slice(2) });
    else if (last) last.text += `\n${line}`;
  };
  const code = await doctor({ ...context, print });
  context.print(JSON.stringify({ ok: code === 0, checks }));
  return code;
}

const CHECK_TIMEOUT_MS = 10_000;
const ENOUGH_FILES = 4_096;

async function doctor(context: CliContext): Promise<number> {
  // First, so that everything below is seen as the server will see it.
  context.dataDirAsOwner();
  const catalog = checkCatalog(context);
  const store = await checkStore(context);
  const setup = await context.setupChecks(catalog);
  for (const { ok, line } of setup) printCheck(context, ok, line);
  const address = await checkAddress(context);
  if (store) await printResponses(context);
  const backends = catalog ? await checkBackends(catalog, context) : false;
  printOpenFiles(context);
  await printLocalServers(context);
  return catalog && store && setup.every(({ ok }) => ok) && address && backends ? 0 : 1;
}

function printCheck(context: CliContext, ok: boolean, line: string): boolean {
  context.print(`${ok ? '✓' : '✗'} ${line}`);
  return ok;
}

function checkCatalog(context: CliContext): Catalog | undefined {
  const configuredPath = context.env['TOLLGATE_CONFIG'];
  const path = configuredPath ?? (existsSync('tollgate.yaml') ? 'tollgate.yaml' : undefined);
  try {
    const source = openCatalog({
      path,
      builtin: builtinCatalog,
      env: context.env,
      settings: context.fileSettings,
      log: silentLog,
      clock: context.clock,
    });
    const catalog = source.current();
    source.close();
    const models = [...catalog.endpoints.values()].reduce((sum, endpoint) => sum + endpoint.models.length, 0);
    printCheck(
      context,
      true,
      `catalog: ${path ?? 'built in, or edited in the console'}, ${plural(catalog.endpoints.size, 'endpoint')}, ${plural(models, 'model')}`,
    );
    return catalog;
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    printCheck(context, false, `catalog: ${message}`);
    if (thrown instanceof CatalogError) context.print('  try: tollgate catalog check FILE');
    return undefined;
  }
}

async function checkStore(context: CliContext): Promise<boolean> {
  try {
    return await context.withServices(async ({ ledger, store, imageStorages }) => {
      const { checked, breaches } = await ledger.verify();
      const where = store.backend.kind === 'sqlite' ? store.backend.path : 'Postgres';
      const consistent = printCheck(
        context,
        breaches.length === 0,
        `store: ${where}, ${checkedText(checked)}, ${plural(breaches.length, 'violated ledger invariant')}`,
      );
      const [place] = imageStorages;
      const images = place ? await checkImageStorage(place) : undefined;
      const kept = !images || printCheck(context, images.ok, images.line);
      if (store.backend.kind === 'sqlite') return consistent && kept;
      return (await checkConnections(context, store.backend)) && consistent && kept;
    });
  } catch (thrown) {
    return printCheck(context, false, `store: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}

/** Nothing is wrong with a server that keeps nothing, but who expects otherwise should know what to do. */
async function printResponses(context: CliContext): Promise<void> {
  const { settings } = await context.configuration();
  const asked = settings.find(({ name }) => name === 'responses.keep_hours')?.value;
  const hours =
    typeof asked === 'number'
      ? asked
      : await context.withServices(({ store }) => hoursWithoutSetting(store.db));
  if (hours > 0) return void printCheck(context, true, `responses: stored for ${plural(hours, 'hour')}`);
  const why = asked === 0 ? '' : ', because an earlier version made this store';
  context.print(
    `• responses: none are stored${why}. To let clients of the Responses API continue from earlier answers, add this to the catalog:`,
  );
  context.print('    responses: { keep_hours: 24 }');
}

/** Whether a server could listen: free, or taken by a Tollgate that answers. */
async function checkAddress(context: CliContext): Promise<boolean> {
  const { host, port } = context.address;
  try {
    Bun.listen({ hostname: host, port, socket: { data: () => undefined } }).stop(true);
    return printCheck(context, true, `address: ${host} port ${port} is free`);
  } catch (error) {
    const answer = await serverAnswer(context.address, '/healthz', CHECK_TIMEOUT_MS);
    if (answer?.status === 200 && answer.text === 'ok\n')
      return printCheck(context, true, `address: a Tollgate answers on ${host} port ${port}`);
    const failure = listenFailure(error, context.address);
    return printCheck(
      context,
      false,
      `address: ${failure instanceof Error ? failure.message : String(failure)}`,
    );
  }
}

/** A process that finds no free connection at the start waits, and one that finds none later refuses requests. */
async function checkConnections(context: CliContext, backend: PostgresBackend): Promise<boolean> {
  const { rows } = await backend.pool.query<{ allowed: number; used: number }>(
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS allowed,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS used`,
  );
  const { allowed = 0, used = 0 } = rows[0] ?? {};
  const own = backend.connections ?? DEFAULT_CONNECTIONS;
  const via = backend.pooled === true ? ' through a pooler' : '';
  return printCheck(
    context,
    own <= allowed,
    `database: up to ${own} connections a process${via} (TOLLGATE_DATABASE_CONNECTIONS). The server allows ${allowed}, ${used} are open: room for ${Math.floor(allowed / own)} processes in all`,
  );
}

async function checkBackends(catalog: Catalog, context: CliContext): Promise<boolean> {
  const pool = new Pool(catalog, context.clock, context.builtIn);
  const results = await Promise.all(
    [...catalog.upstreams.keys()].map(async (name) => ({
      name,
      health: await pool.test(name, AbortSignal.timeout(CHECK_TIMEOUT_MS)),
    })),
  );
  for (const { name, health } of results)
    printCheck(context, health.ok, `backend ${name}: ${health.detail} (${health.latencyMs} ms)`);
  return results.every(({ health }) => health.ok);
}

/** A low limit is no mistake, so it does not fail the check. */
function printOpenFiles(context: CliContext): void {
  const limit = openFileLimit();
  const line = `open files: ${limit === undefined ? 'no limit' : `at most ${limit}`}`;
  if (limit === undefined || limit >= ENOUGH_FILES) return void printCheck(context, true, line);
  context.print(
    `• ${line}; a running request takes two. Raise it with \`ulimit -n 65536\`, or LimitNOFILE in systemd.`,
  );
}

async function printLocalServers(context: CliContext): Promise<void> {
  for (const found of await discoverLocalServers()) {
    context.print(
      `• ${found.name} is running on this machine; to sell its models, add this to tollgate.yaml:`,
    );
    for (const line of found.yaml.split('\n')) context.print(`    ${line}`);
  }
}

/** Writes, reads and deletes a small object where images are kept; says what failed. */
export async function checkImageStorage(
  place: ImageObjects,
): Promise<{ readonly ok: boolean; readonly line: string }> {
  const key = `doctor/${randomPart(16)}`;
  const bytes = new TextEncoder().encode('tollgate doctor');
  const where = place.place === 's3' ? place.address : `files in ${place.address}`;
  try {
    await place.put(key, bytes, 'text/plain');
    const found = await place.read(key, 0, bytes.byteLength);
    await place.delete(key);
    if (found && Buffer.from(found).equals(bytes))
      return { ok: true, line: `images: ${where}: written, read and deleted` };
    return { ok: false, line: `images: ${where}: what was read is not what was written` };
  } catch (error) {
    return { ok: false, line: `images: ${where}: ${reasonOf(error)}` };
  }
}

function reasonOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  if (cause instanceof Error) return cause.message;
  return error instanceof Error ? error.message : String(error);
}
