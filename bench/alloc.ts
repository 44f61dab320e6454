/**
 * `npm run bench -- alloc`: what a request leaves to the garbage collector, in kilobytes and in objects by kind, on both stores.
 * Unlike time, this is the same on a busy machine.
 *
 *   --only NAME     only cases and stores whose name contains NAME (repeatable)
 *   --requests N    how many are measured of each (default 20000; a tenth of streams and images)
 *   --kinds N       how many kinds of objects are shown (default 16)
 */
import { parseArgs } from 'node:util';
import { measureGrown, measureAllocated, startLoggingCollections } from './alloc/allocations.ts';
import { CASES, IMAGE, MOST_ACCOUNTS, SMALL_CHAT, STREAMED_CHAT } from './cases.ts';
import { startBenchPostgres } from './contenders/tollgate.ts';
import { openBenchEnvironment } from './harness/environment.ts';
import { table } from './harness/table.ts';

const { values: flags } = parseArgs({
  args: process.argv.slice(process.argv[2] === 'alloc' ? 3 : 2),
  options: {
    only: { type: 'string', multiple: true, default: [] },
    requests: { type: 'string', default: '20000' },
    kinds: { type: 'string', default: '16' },
  },
});
const requests = Number(flags.requests);
const wanted = (name: string, names: readonly string[]): boolean => {
  const own = flags.only.filter((only) => names.some((one) => one.includes(only)));
  return own.length === 0 || own.some((only) => name.includes(only));
};
const cases = [SMALL_CHAT, ...CASES.filter(({ name }) => name === '10 KB chat'), STREAMED_CHAT, IMAGE];
const stores = ['SQLite', 'Postgres'];
const names = cases.map(({ name }) => name);

const field = await openBenchEnvironment();
const postgres = stores.filter((store) => wanted(store, stores)).includes('Postgres')
  ? await startBenchPostgres()
  : undefined;
for (const store of stores.filter((name) => wanted(name, stores))) {
  const optionsOf = async (name: string) => ({
    name: `${store} ${name}`,
    backend: field.backend,
    folder: field.folder,
    accounts: MOST_ACCOUNTS,
    ...(store === 'Postgres' && postgres
      ? { databaseUrl: await postgres.freshDatabase(), databasePids: [postgres.pid] }
      : {}),
  });
  for (const one of cases.filter(({ name }) => wanted(name, names))) {
    const server = await startLoggingCollections(await optionsOf(`${one.name} logged`));
    const { kilobytes, collections, chunks } = await measureAllocated(
      one,
      server,
      one.streamed || one === IMAGE ? requests / 10 : requests,
    );
    await server.stop();
    const grown = await measureGrown(one, await optionsOf(`${one.name} counted`));
    const per = one.streamed
      ? `, ${((kilobytes * 1024) / chunks).toFixed(0)} bytes for each of ${chunks.toFixed(0)} chunks`
      : '';
    console.log(
      `\n### ${one.name}, ${store}: ${kilobytes.toFixed(1)} KB${per} by the log of collections, ${grown.kilobytes.toFixed(2)} KB of cells; ${(collections * 1000).toFixed(1)} collections in 1,000\n`,
    );
    console.log(
      table(
        ['kind', 'objects for each request'],
        Object.entries(grown.kinds)
          .slice(0, Number(flags.kinds))
          .map(([kind, count]) => [kind, count.toFixed(1)]),
      ),
    );
  }
}
await postgres?.stop();
await field.close();
process.exit(0);
