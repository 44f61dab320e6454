import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CatalogVersions } from '../../src/catalog/versions.ts';
import { systemClock } from '../../src/std/clock.ts';
import { silentLog } from '../../src/std/log.ts';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';
import { openStore } from '../../src/store/store.ts';
import { eventually, NodeProcess, PROGRAM } from '../support/node-process.ts';

/** SIGHUP on a real process: the catalog is reloaded, and the server continues. */

let node: NodeProcess;
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe('SIGHUP', () => {
  afterEach(async () => {
    await node.stop();
  });

  test('reloads the catalog file at once, wherever the file is', async () => {
    const file = await startBehindLink(catalogWith('house-echo'));
    writeFileSync(file, catalogWith('house-guide'));
    await hangup('catalog_reloaded');
    expect(await models()).toEqual(['house-guide']);
  });

  test('keeps the catalog in force if the file is invalid, and says why each time', async () => {
    const file = await startBehindLink(catalogWith('house-echo'));
    writeFileSync(file, catalogWith('house-echo').replace('kind: house', 'kind: nonsense'));
    for (const times of [1, 2]) {
      const lines = await hangup('catalog_reload_refused', times);
      expect(lines.at(-1)).toContain('upstreams.house.kind: must be one of');
      expect(await models()).toEqual(['house-echo']);
    }
    rmSync(file);
    const lines = await hangup('catalog_reload_refused', 3);
    expect(lines.at(-1)).toContain('ENOENT');
    expect(await models()).toEqual(['house-echo']);
  });

  test('reloads the store if the catalog is there', async () => {
    node = await NodeProcess.start({});
    await saveInStore(catalogWith('house-guide'));
    await hangup('catalog_reloaded');
    expect(await models()).toEqual(['house-guide']);
  });

  test('takes up the log level of the file', async () => {
    const file = await startBehindLink(`${catalogWith('house-echo')}log: { level: error }\n`);
    writeFileSync(file, `${catalogWith('house-guide')}log: { level: error }\n`);
    node.signal('SIGHUP');
    await eventually('the file was read', async () => (await models())[0] === 'house-guide');
    writeFileSync(file, `${catalogWith('house-echo')}log: { level: info }\n`);
    // Reloads run one after another: a line of the first one would be there too.
    expect(await hangup('catalog_reloaded')).toHaveLength(1);
    expect(await models()).toEqual(['house-echo']);
  });

  test('does not stop the server: it still drains and exits with 0 on SIGTERM', async () => {
    node = await NodeProcess.start({ yaml: catalogWith('house-echo') });
    for (let times = 0; times < 20; times++) node.signal('SIGHUP');
    await eventually('it has answered', () => linesOf('catalog_reloaded').length > 0);
    node.signal('SIGTERM');
    expect(await node.exited()).toBe(0);
  });
});

test('a server whose terminal is closed drains and exits, as on SIGTERM', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-terminal-'));
  folders.push(folder);
  const ready = Promise.withResolvers<void>();
  let shown = '';
  const child = Bun.spawn([...PROGRAM, 'serve'], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, TOLLGATE_PORT: '0', TOLLGATE_DRAIN_SECONDS: '0' },
    terminal: {
      data: (_, bytes) => {
        shown += Buffer.from(bytes).toString('utf8');
        if (shown.includes('Tollgate is ready')) ready.resolve();
      },
    },
  });
  try {
    await ready.promise;
    child.kill('SIGHUP');
    await eventually('the catalog was read again', () => shown.includes('catalog_reloaded'));
    child.terminal?.close();
    expect(await child.exited).toBe(0);
  } finally {
    child.kill('SIGKILL');
  }
});

function catalogWith(model: string): string {
  return `
upstreams:
  house: { kind: house }
lists:
  chats: [{ model: ${model}, input: 1, output: 2, context: 1000, max_output: 100 }]
endpoints:
  svc_chat: { name: Chat, type: chat_completion, lists: [chats], upstreams: [house] }
`;
}

/** Starts a server that cannot watch its catalog file: the file is behind a symlink. */
async function startBehindLink(yaml: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-catalog-'));
  folders.push(folder);
  const [file, link] = [join(folder, 'catalog.yaml'), join(folder, 'links', 'tollgate.yaml')];
  writeFileSync(file, yaml);
  mkdirSync(join(folder, 'links'));
  symlinkSync(file, link);
  node = await NodeProcess.start({ env: { TOLLGATE_CONFIG: link } });
  return file;
}

/** Sends the signal and resolves with the log lines of an event, once there are enough. */
async function hangup(event: string, times = 1): Promise<string[]> {
  node.signal('SIGHUP');
  await eventually(`${event} is logged`, () => !node.alive || linesOf(event).length >= times);
  expect(node.alive).toBe(true);
  return linesOf(event);
}

function linesOf(event: string): string[] {
  return node.log.split('\n').filter((line) => line.includes(`"event":"${event}"`));
}

async function models(): Promise<string[]> {
  const response = await fetch(`${node.url}/api/public/v1/models`);
  const { data } = (await response.json()) as { data: { models: { model: string }[] }[] };
  return data.flatMap((endpoint) => endpoint.models.map(({ model }) => model));
}

async function saveInStore(text: string): Promise<void> {
  const store = await openStore({
    dataDir: join(node.folder, 'data'),
    databaseUrl: undefined,
    log: silentLog,
    clock: systemClock,
    ledgerSql: LEDGER_SQL,
  });
  await new CatalogVersions(store.db, systemClock).add([{ text, actor: 'test', note: '' }], 0);
  await store.close();
}
