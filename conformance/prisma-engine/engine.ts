/**
 * Prisma's query engine for clients that start it as a program, where its binary cannot be downloaded: the same engine as
 * WebAssembly, out of Prisma's own package `@prisma/client`, on `pg`. It speaks the program's HTTP: GraphQL in, JSON out.
 *
 * PRISMA_MODULES is the folder of the packages, PRISMA_DML_PATH the schema, DATABASE_URL the database.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toJsonQuery, withoutTypes, type JsonQuery } from './graphql.ts';

const VERSION = '393aa359c9ad4a4bb28630fb5613f9c281cde053';
const CONNECTIONS = 10;

interface Engine {
  connect(trace: string): Promise<void>;
  query(body: string, trace: string, transaction?: string): Promise<string>;
  startTransaction(options: string, trace: string): Promise<string>;
  commitTransaction(id: string, trace: string): Promise<string>;
  rollbackTransaction(id: string, trace: string): Promise<string>;
}

interface Runtime {
  readonly QueryEngine: new (options: object, log: (line: string) => void, adapter: unknown) => Engine;
  __wbg_set_wasm(exports: WebAssembly.Exports): void;
}

if (process.argv.includes('--version')) {
  console.log(`query-engine ${VERSION}`);
  process.exit(0);
}
const TRACE = '{}';
const port = Number(process.argv[process.argv.indexOf('-p') + 1]);
const schema = readFileSync(process.env['PRISMA_DML_PATH'] ?? '', 'utf8');
const jsonFields = jsonFieldsIn(schema);
const engine = await openEngine();

Bun.serve({ hostname: '127.0.0.1', port, idleTimeout: 0, fetch: serve });

async function serve(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const transaction = /^\/transaction\/([^/]+)\/(commit|rollback)$/.exec(pathname);
  try {
    if (pathname === '/') return await answer(request);
    if (pathname === '/transaction/start') {
      const options = (await request.json()) as object;
      return text(await engine.startTransaction(JSON.stringify(options), TRACE));
    }
    if (transaction?.[2] === 'commit')
      return text(await engine.commitTransaction(transaction[1] ?? '', TRACE));
    if (transaction) return text(await engine.rollbackTransaction(transaction[1] ?? '', TRACE));
    return Response.json(pathname === '/status' ? { status: 'ok' } : {});
  } catch (error) {
    return Response.json({
      errors: [{ error: String(error), user_facing_error: { message: String(error) } }],
    });
  }
}

async function answer(request: Request): Promise<Response> {
  const body = (await request.json()) as Body;
  const transaction = request.headers.get('x-transaction-id') ?? undefined;
  if ('batch' in body) {
    const batch = body.batch.map(({ query }) => withJson(toJsonQuery(query)));
    const asked = { batch, ...(body.transaction === true ? { transaction: {} } : {}) };
    const found = JSON.parse(await engine.query(JSON.stringify(asked), TRACE, transaction)) as {
      readonly batchResult?: readonly Answer[];
    };
    return Response.json(found.batchResult ? { batchResult: found.batchResult.map(named) } : found);
  }
  const asked = withJson(toJsonQuery(body.query));
  return Response.json(
    named(JSON.parse(await engine.query(JSON.stringify(asked), TRACE, transaction)) as Answer),
  );
}

type Body =
  | { readonly query: string }
  | { readonly batch: readonly { readonly query: string }[]; readonly transaction?: boolean };

interface Answer {
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The client names what it asks for `result`; the JSON protocol knows no such names. */
function named(answer: Answer): object {
  const first = Object.entries(answer.data ?? {})[0];
  if (first === undefined) return answer;
  return { ...answer, data: { result: withoutTypes(first[1], first[0] === 'queryRaw') } };
}

function text(body: string): Response {
  return new Response(body, { headers: { 'content-type': 'application/json' } });
}

/** GraphQL leaves it to the schema which texts are JSON; the JSON protocol wants to be told. */
function withJson(asked: JsonQuery): JsonQuery {
  const fields = jsonFields.get(asked.modelName ?? '') ?? new Set();
  const { arguments: given, selection } = asked.query;
  // What comes out is what went in, with some texts marked.
  return { ...asked, query: { arguments: marked(given, fields) as typeof given, selection } };
}

function marked(value: unknown, fields: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => marked(item, fields));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => [
    name,
    fields.has(name) && typeof inner === 'string' ? { $type: 'Json', value: inner } : marked(inner, fields),
  ]);
  return Object.fromEntries(entries);
}

/** By model. */
function jsonFieldsIn(schema: string): ReadonlyMap<string, ReadonlySet<string>> {
  const models = schema.matchAll(/^model (\w+) \{([\s\S]*?)^\}/gm);
  return new Map(
    Array.from(models, ([, name = '', body = '']) => [
      name,
      new Set(Array.from(body.matchAll(/^\s*(\w+)\s+Json\b/gm), ([, field = '']) => field)),
    ]),
  );
}

async function openEngine(): Promise<Engine> {
  const modules = process.env['PRISMA_MODULES'] ?? '';
  const load = async <Module>(path: string): Promise<Module> => (await import(join(modules, path))) as Module;
  const runtime = await load<Runtime>('@prisma/client/runtime/query_engine_bg.postgresql.js');
  const wasm = readFileSync(join(modules, '@prisma/client/runtime/query_engine_bg.postgresql.wasm'));
  const { instance } = await WebAssembly.instantiate(wasm, {
    './query_engine_bg.js': { ...runtime },
  });
  runtime.__wbg_set_wasm(instance.exports);
  const { PrismaPg } = await load<{ readonly PrismaPg: new (pool: unknown) => unknown }>(
    '@prisma/adapter-pg/dist/index.js',
  );
  const utils = await load<{ bindAdapter(adapter: unknown): unknown }>(
    '@prisma/driver-adapter-utils/dist/index.js',
  );
  const { Pool } = await load<{ readonly Pool: new (options: object) => unknown }>('pg/lib/index.js');
  const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: CONNECTIONS });
  const options = {
    datamodel: schema,
    logLevel: 'error',
    logQueries: false,
  };
  const opened = new runtime.QueryEngine(options, () => undefined, utils.bindAdapter(new PrismaPg(pool)));
  await opened.connect(TRACE);
  return opened;
}
