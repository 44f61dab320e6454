import { afterEach, expect, test } from 'bun:test';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { METRICS_TOKEN, metricsOf } from '../support/leaks.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';

/** SIGUSR2 on a server that is serving: where its time goes, without a restart. */

let node: NodeProcess;

afterEach(async () => {
  await node.stop();
});

interface Profile {
  readonly nodes: readonly { readonly callFrame: { readonly functionName: string } }[];
  readonly samples: readonly number[];
}

function profilesIn(folder: string): string[] {
  const names = readdirSync(join(folder, 'data')).filter((name) => name.endsWith('.cpuprofile'));
  return names.toSorted().map((name) => join(folder, 'data', name));
}

function linesOf(event: string): number {
  return node.log.split(`"event":"${event}"`).length - 1;
}

async function signalUntil(event: string, times: number): Promise<void> {
  node.signal('SIGUSR2');
  await eventually(`${event} is logged`, () => linesOf(event) === times);
}

async function cpuSeconds(): Promise<number> {
  const metrics = await metricsOf(node.url, METRICS_TOKEN);
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]);
}

/** Keeps the server busy: a profile of one that only waits has no samples, and one of a few milliseconds may miss them. */
async function work(seconds: number): Promise<void> {
  const until = (await cpuSeconds()) + seconds;
  do {
    const answers = Array.from({ length: 100 }, () => fetch(`${node.url}/readyz`));
    for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
  } while ((await cpuSeconds()) < until);
}

test('a running server writes down where its time goes, as often as it is asked, and serves on', async () => {
  node = await NodeProcess.start({});
  for (const times of [1, 2]) {
    await signalUntil('cpu_profile_started', times);
    await work(0.5);
    await signalUntil('cpu_profile_written', times);
  }
  const files = profilesIn(node.folder);
  expect(files).toHaveLength(2);
  for (const file of files) {
    const { nodes, samples } = JSON.parse(readFileSync(file, 'utf8')) as Profile;
    expect(samples.length).toBeGreaterThan(0);
    expect(nodes.map(({ callFrame }) => callFrame.functionName)).toContain('(root)');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
});

test('every worker of a node writes its own', async () => {
  const databaseUrl = await (await testPostgres()).freshDatabase();
  node = await NodeProcess.start({
    databaseUrl,
    env: { TOLLGATE_WORKERS: '2', TOLLGATE_PORT: String(await freePort()) },
  });
  await eventually('both workers serve', async () =>
    (await metricsOf(node.url, METRICS_TOKEN)).includes('tollgate_processes 2\n'),
  );
  await signalUntil('cpu_profile_started', 2);
  await signalUntil('cpu_profile_written', 2);
  expect(profilesIn(node.folder)).toHaveLength(2);
});
