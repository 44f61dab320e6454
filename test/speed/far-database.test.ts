import { expect, test } from 'bun:test';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { Gateway } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';

/** As the settings say: the usual deadline, and the one for twice the way. */
test.each([
  [100, 900],
  [200, 1_800],
])(
  'a database whose answers take %d ms to arrive serves every request, with a deadline of %d ms',
  async (awayMs, deadlineMs) => {
    const databaseUrl = await (await testPostgres()).freshDatabase();
    const url = new URL(databaseUrl);
    const near = await Gateway.start({ databaseUrl });
    const { token } = await near.account('5');
    await near.stop();
    const proxy = await startFaultProxy(Number(url.port));
    proxy.delay(awayMs);
    url.port = String(proxy.port);
    const gateway = await Gateway.start({
      databaseUrl: url.href,
      env: { TOLLGATE_DATABASE_DEADLINE_MS: String(deadlineMs) },
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
  },
  120_000,
);
