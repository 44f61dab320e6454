import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { testPostgres } from '../../../test/support/postgres.ts';
import { LEDGER_SQL } from '../../ledger/postgres/functions.ts';
import { systemClock } from '../../std/clock.ts';
import { silentLog } from '../../std/log.ts';
import { openStore } from '../store.ts';

/**
 * Of each step as it was released. A line is added with a new step and never changed: a database that has the step would
 * be refused at the next start.
 */
const RELEASED = {
  SQLite: [
    '1 baseline ab24ec0703629334c0a08c512b6cbf10d1297a176f319cc97c613845078abc7b',
    '2 retention 7afa927783fc69bf42726b2a50712a01785c6a582bca8f387ecf0b2ee4f22e9e',
    '3 costs 9d89a0e1f7c64b370fab8da534a13863b9acf931dbbbf41ff8922729a1ba1cc4',
    '4 sign-in attempts 60350006ef24d26b41e31b5547601a96f396466db99ce8578fbc84e2ba4418cc',
    '5 refused calls 11d2d3d868e112cab24498319f35aeaa250dd17a20c3e38b9c4df51326a4e9f1',
    '6 image jobs ddd7c92c1d06840964a38e6dab668c49b20a115d5f945eb3398df2d18dde6c71',
    '7 outbox 990e7440885ddc7bac6a39c87b88a4d3d84b5d7fa215b0725891e5a29f60b828',
    '8 payments ca1bd13bde58ab261fb8b093cffda7042ab207c733e8fb06fcdb2ad3690ed89f',
    '9 statements 12fa7fab9ffc5fae9392dc3444c34530458d0daec1a6268b385d43fdd6f0fbec',
    '10 image objects 9c7b79eb3f159bc8c886253feffd9bb760601d4f815efcd14ce8ffb4c13a6277',
    '11 large tables aee21d8db9dbcbf8495f4c3255d91981854ab6026dc44a0fe5cd88b489d6dafd',
    '12 model days f67d3d701730b3ccb71f3e51ae3632208185f403b4098d178ff1044f2fb45b13',
    '13 usage hours 94e95f974079070e41c2170467719ef75a857fd80b25cc6dcbb4d6ee1896c99b',
    '14 receipt links 2d1dbaa2fe8e5a28d029509d2442592ba04bb1a98e34d03b7f1647d4fa7d23b1',
    '15 usage totals e417666cdedc8e225749e691dd04b7836de48d37538621844a5e6284d9a84436',
    '16 cost entries 86a649bf42a9e96b4e0d24f9008697d4874aea97e141dc1c7c84e27c5fbf7325',
    '17 saved by cache ac3a5a2509b329e9bdcb5ac13f0d3c4b801e12912ea36f0102fc2a912bc00d27',
    '18 money that goes back d138ee6365fd60d58e36de6bd53cef215944ea95822e4b8ee0cc9744e6479386',
    '19 charged answers 58168f02df6c04e5f0d16721ce30e04e7cd60c925017c315606e335f436443b6',
    '20 teams adf51bb19330786beb47d256b6d63782911b161fd6ec3cf10293f065b3c37450',
    '21 stored responses abaf051ccb83c7021286c0412805fad93fa4c7b7c6d4c7a211397e39b0208854',
    '22 operators c30a8f5b90b5b477ee606d6aa7bb0bc4f815fd2153214511f4365e3a82a1a168',
    '23 price groups 39397c66ff2d469b35020db1ca0c02a87a1482a20183466b25f3b44037088d51',
    '24 chat webhooks 01a6c0629bc4e9adf17905eef05ba08e9138ecb1093e710f14d599769d38c660',
    '25 catalog plans 7ab8a441379af79dd8d667c9e21d862361421e6a657d0b5375d6dc300bba492f',
    '26 request tags 483dbb8983b2d9a12cbe35a13688a88a927241cdc98f2661b512af9ce0dc13ef',
    '27 responses by time 078959e16c7b146022384c93ab8886678cec57980f3f220179a321fc91138273',
  ],
  Postgres: [
    '1 baseline 34028d3f8c6b998af6b3e8f0ff6ecf0d92709623213ed866d52f1a963cbbf658',
    '2 retention 9390e485e1ac325d3d293458f6a49c5702bafcabca8328c4543d738a111d4140',
    '3 costs 6e90c12a637bc9d385b810c109e514337f2b404e4a331f37cfcf72603b7a2e1a',
    '4 sign-in attempts 997d6a64a74c03531c10e5a5e2d2586b6bbffae04b6b93eacf0b4add7d1c8b67',
    '5 refused calls ba8048b4239fd10ad71a4e44dcd61347718bceff36522940716972efdb7a6be7',
    '6 image jobs f5c0bd86385500119cd3bf482882e84e88423a38f7a0aee3ad70b27be6da4f6d',
    '7 outbox cf3f6a0ea7c1f09495135f2b2c9cfb65e3f6762ca34ba97f08d1cb83ca11d976',
    '8 payments 34b36cf3efac038d401059e333edbe16da8b8a43d2e355ca4ef60c7cffb846ec',
    '9 statements 88afc2899ef3e026e4cc48199f782420a871e69813471c53146a849bc0ef93a7',
    '10 image objects 71ac7020f7b1a0cdf81f1ae298848d4aa1d5e08e43ac7aa5c5881ddc6ad87630',
    '11 large tables aee21d8db9dbcbf8495f4c3255d91981854ab6026dc44a0fe5cd88b489d6dafd',
    '12 model days 78f4e557b5e143022428124a3c6711faf8aebf49570440deb649b065bbbfeab6',
    '13 usage hours 30c4a91da3633907b1e6976e548a3799e465987b30302547167573ba79fe0c23',
    '14 receipt links 00cdbc91f775ea23f85a6c4262959d571f4aa7526119ca1e74cd881c75676cc8',
    '15 usage totals dd536a5f5604e9a27ef9b306f18081c3fde195599e2c6d2159ff97a91f1f7bf2',
    '16 cost entries 5cba7acab952e65f663799bdd811d5dcf4afaeb953e8ee2b7b9052ea686c64e7',
    '17 saved by cache 17718ef17e6aeb4e3b32fe7b16f42ce8166d1dbdb9043d60aa2a017950ee5130',
    '18 money that goes back 640cc9146db642955409b6a164268dd6b0f02897427822e0196e75d31f01ff05',
    '19 charged answers a72eb9acfd84093d12d7b697b9de889849f18cf94dec9fa5f752014bf9838819',
    '20 teams 8fc7b2362c98772980a9719bca1910f22949ce904129149c3ff0f7ef9869fbc8',
    '21 stored responses af7daf24a42ec848be2e5a8cfcb59ff7e7a875bca55d61418c64913a8da5da51',
    '22 operators 92538c7d83a2492566da77f2f27be921d8862d21f2993f2afe64ef2d4eb4ac22',
    '23 price groups 39397c66ff2d469b35020db1ca0c02a87a1482a20183466b25f3b44037088d51',
    '24 chat webhooks 01a6c0629bc4e9adf17905eef05ba08e9138ecb1093e710f14d599769d38c660',
    '25 catalog plans 06fb905c782cb6d823618d9177a5bd7d2c9f05d9d5694f4009218dc3ed01585a',
    '26 request tags ddeb105da7685983b5c13710c69d9828e3efc57d4b95a8a2550d233dd5897354',
    '27 responses by time 4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945',
  ],
};

const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-steps-'));
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

test.each([
  ['SQLite', () => Promise.resolve(undefined)],
  ['Postgres', async () => (await testPostgres()).emptyDatabase()],
] as const)('no released step of the schema on %s was edited', async (name, database) => {
  const options = { dataDir, databaseUrl: await database(), log: silentLog, clock: systemClock };
  const store = await openStore({ ...options, ledgerSql: LEDGER_SQL });
  const { rows } = await sql<{ step: string }>`
    SELECT number || ' ' || name || ' ' || checksum AS step FROM schema_step ORDER BY number`.execute(
    store.db,
  );
  await store.close();
  expect(rows.map(({ step }) => step)).toEqual(RELEASED[name]);
});
