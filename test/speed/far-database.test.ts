import { expect, test } from 'bun:test';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { Gateway } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';

test('a database whose answers take 200 ms to arrive serves every request, with the deadline that nobody changed', async () => {
  const databaseUrl = await (await testPostgres()).freshDatabase();
  const url = new URL(databaseUrl);
  const near = await Gateway.start({ databaseUrl });
  const { token } = await near.account('5');
  await near.stop();
  const proxy = await startFaultProxy(Number(url.port));
  proxy.delay(200);
  url.port = String(proxy.port);
  const gateway = await Gateway.start({
    databaseUrl: url.href,
    env: { TOLLGATE_DATABASE_DEADLINE_MS: '900' },
  });
  const statuses: number[] = [];
  while ((await gateway.fetch('/readyz')).status !== 200) continue;
  for (let round = 0; round < 4; round++) {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => gateway.chat(token, { model: 'house-echo' })),
    );
    statuses.push(...answers.map(({ status }) => status));
  }
  expect([...new Set(statuses)]).toEqual([200]);
  proxy.delay(0);
  await gateway.verify();
  await gateway.stop();
  await proxy.close();
}, 120_000);
