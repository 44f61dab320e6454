import { afterAll, describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { SERVER_SETTINGS } from '../../src/main/server-settings.ts';
import { ENVIRONMENT } from '../../src/main/environment.ts';
import { readTls } from '../../src/http/tls.ts';
import { checkCatalogFile } from '../../src/cli/catalog.ts';
import { storeUnavailable } from '../../src/std/fault.ts';
import { faultBody } from '../../src/wire/fault-body.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';

/** No container engine is at hand: what the files say is compared with the program, and what they run is run. */

const DEPLOY = join(import.meta.dir, '../../deploy');
const read = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8');
const known = (name: string): boolean => Object.hasOwn(ENVIRONMENT, name);
/** What a node takes from SIGTERM to its end: the pause, the grace, and the time for what is cut off then. */
const LONGEST_STOP_SECONDS =
  ENVIRONMENT.TOLLGATE_DRAIN_SECONDS.fallback + ENVIRONMENT.TOLLGATE_GRACE_SECONDS.fallback + 5;

const ANALYZE = Bun.which('systemd-analyze');
const TOLLGATE = [process.execPath, join(import.meta.dir, '../../src/main/main.ts')];
/** As pg_dump ends when the database goes away: with half of a file. */
const BROKEN_OFF_DUMP = ['sh', '-c', 'echo half > "$0"; exit 1'];

const folder = mkdtempSync(join(tmpdir(), 'tollgate-deploy-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the image', () => {
  const lines = read('Dockerfile').split('\n');
  const last = (word: string): string =>
    lines.findLast((line) => line.startsWith(`${word} `))?.slice(word.length + 1) ?? '';
  const env = Object.fromEntries(
    lines
      .filter((line) => line.startsWith('ENV '))
      .flatMap((line) => line.slice(4).split(' '))
      .map((pair) => pair.split('=') as [string, string]),
  );
  const command = (JSON.parse(last('ENTRYPOINT')) as string[]).concat(JSON.parse(last('CMD')) as string[]);
  const healthcheck = JSON.parse(/CMD (\[.*\])/.exec(last('HEALTHCHECK'))?.[1] ?? '[]') as string[];

  test('runs the binary that `npm run build` makes, not as root, with settings that exist', () => {
    expect(lines).toContain('COPY --from=build /src/dist/tollgate /usr/local/bin/tollgate');
    expect(read('../scripts/build.ts')).toContain("'dist/tollgate'");
    expect(last('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(Object.keys(env).filter((name) => !known(name))).toEqual([]);
    expect(last('EXPOSE')).toBe(env['TOLLGATE_PORT'] ?? '');
    expect(last('VOLUME')).toBe(env['TOLLGATE_DATA'] ?? '');
    expect(lines).toContain(`COPY --from=build --chown=${last('USER')} /empty ${env['TOLLGATE_DATA']}`);
    expect(command).toEqual(['/usr/local/bin/tollgate', 'serve']);
  });

  test('its commands work in an empty folder: the server starts, and its health check says when it is alive', async () => {
    expect(healthcheck[0]).toBe(command[0]);
    const node = await NodeProcess.start({ env: { TOLLGATE_HOST: env['TOLLGATE_HOST'] ?? '' } });
    try {
      const { port } = new URL(node.url);
      const alive = await healthOf(node, port, healthcheck.slice(1));
      expect(alive).toEqual({ code: 0, output: '/healthz answers 200\n' });
      expect((await healthOf(node, port, [...healthcheck.slice(1), '--ready'])).code).toBe(0);
      node.signal('SIGKILL');
      await node.exited();
      expect((await healthOf(node, port, healthcheck.slice(1))).code).toBe(5);
    } finally {
      await node.stop();
    }
  }, 60_000);
});

async function healthOf(node: NodeProcess, port: string, words: readonly string[]) {
  return await run([...TOLLGATE, ...words], {
    ...node.env,
    PATH: process.env['PATH'] ?? '',
    TOLLGATE_PORT: port,
  });
}

interface ComposeService {
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly stop_grace_period?: string;
  readonly networks?: readonly string[];
  readonly ulimits?: { readonly nofile: number };
}

describe('the compose file', () => {
  const compose = parse(read('compose.yaml'), { merge: true }) as {
    readonly services: Readonly<Record<string, ComposeService>>;
    readonly networks: {
      readonly inside: { readonly ipam: { readonly config: { readonly subnet: string }[] } };
    };
  };
  const { node1, node2, proxy, postgres } = compose.services;
  const catalog = read('catalog.yaml');

  test('two equal nodes, with settings that exist and the time that a stop may take', () => {
    expect(node2).toEqual(node1);
    const environment = node1?.environment ?? {};
    expect(Object.keys(environment).filter((name) => !known(name))).toEqual([]);
    for (const name of ['DATABASE_URL', 'TOLLGATE_SECRET', 'TOLLGATE_PUBLIC_URL'])
      expect(Object.keys(environment)).toContain(name);
    const mounts = (node1?.volumes ?? []).map((volume) => volume.split(':')[1]);
    expect(mounts).toContain(environment['TOLLGATE_CONFIG'] ?? '');
    expect(Number(/^(\d+)s$/.exec(node1?.stop_grace_period ?? '')?.[1])).toBeGreaterThan(
      LONGEST_STOP_SECONDS,
    );
    const url = new URL((environment['DATABASE_URL'] ?? '').replaceAll(/\$\{[^}]*\}/g, 'x'));
    expect([url.hostname, url.username, url.pathname]).toEqual([
      'postgres',
      postgres?.environment?.['POSTGRES_USER'] ?? '',
      `/${postgres?.environment?.['POSTGRES_DB']}`,
    ]);
  });

  test('every variable that it asks for is in env.example, and every one there is asked for', () => {
    const asked = new Set([...read('compose.yaml').matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name));
    const given = [...read('env.example').matchAll(/^(\w+)=/gm)].map(([, name]) => name);
    expect([...asked].toSorted()).toEqual(given.toSorted());
  });

  test('only the proxy is reached from outside, it asks every node, and the nodes believe it', () => {
    expect(
      Object.entries(compose.services)
        .filter(([, { ports }]) => ports)
        .map(([name]) => name),
    ).toEqual(['proxy']);
    const config = read('haproxy.cfg');
    const bound = [...config.matchAll(/^ {2}bind :(\d+)/gm)].map(([, port]) => port);
    expect((proxy?.ports ?? []).map((port) => port.split(':')[1])).toEqual(bound as string[]);
    const servers = [...config.matchAll(/^ {2}server \w+ ([\w:]+)/gm)].map(([, server]) => server);
    // Once where they are asked whether they are ready, and once for when none is.
    expect(servers).toEqual(['node1:8700', 'node2:8700', 'node1:8700', 'node2:8700']);
    expect(config).toContain('option httpchk GET /readyz');
    const [, inter = 0, fall = 0] = /inter (\d+)s fall (\d+)/.exec(config) ?? [];
    expect(Number(inter) * Number(fall)).toBeLessThan(ENVIRONMENT.TOLLGATE_DRAIN_SECONDS.fallback * 0.8);
    for (const mount of proxy?.volumes ?? [])
      if (mount.includes('tls.pem')) expect(config).toContain(`crt ${mount.split(':')[1]} `);
    const path = join(folder, 'catalog.yaml');
    writeFileSync(path, catalog);
    const checked = checkCatalogFile(path, {}, SERVER_SETTINGS);
    expect(checked.mistakes).toEqual([]);
    expect(checked.catalog?.settings?.get('trusted_proxies')?.value).toEqual([
      compose.networks.inside.ipam.config[0]?.subnet,
    ]);
  });

  test('the proxy may have the files that its connections take, or it would not start', () => {
    const [, connections = 'none'] = /maxconn (\d+)/.exec(read('haproxy.cfg')) ?? [];
    expect(proxy?.ulimits?.nofile).toBeGreaterThan(2 * Number(connections) + 100);
  });

  const haproxy = Bun.which('haproxy', { PATH: `${process.env['PATH']}:/usr/sbin` });
  test.skipIf(haproxy === null)(
    'the proxy takes its file, where HAProxy is installed',
    async () => {
      const { cert, key } = (await readTls({ kind: 'self-signed' }, folder)) ?? { cert: '', key: '' };
      const pem = join(folder, 'tls.pem');
      writeFileSync(pem, `${cert}\n${key}`);
      const file = join(folder, 'haproxy.cfg');
      writeFileSync(file, read('haproxy.cfg').replace('/etc/haproxy/tls.pem', pem));
      const checked = Bun.spawnSync([haproxy ?? '', '-c', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] });
      expect({ code: checked.exitCode, said: checked.stderr.toString() }).toMatchObject({ code: 0 });
    },
    60_000,
  );
});

describe('a proxy in front, in an outage', () => {
  const body = JSON.stringify(faultBody(storeUnavailable('the database')));
  const page = read('../docs/operate.md');
  const snippet = (name: string): string => new RegExp(`\`\`\`${name}\\n([^]*?)\`\`\``).exec(page)?.[1] ?? '';

  test.each([
    ['the HAProxy of compose.yaml', read('haproxy.cfg'), 3],
    ['HAProxy', snippet('haproxy'), 3],
    ['nginx', snippet('nginx'), 1],
    ['Caddy', snippet('caddy'), 1],
  ])('%s says what a node would say, and when to come back', (_, config, times) => {
    expect(config.split(body).length - 1).toBe(times);
    expect(config.match(/retry-after 1\b/gi)).toHaveLength(times);
  });

  const haproxy = Bun.which('haproxy', { PATH: `${process.env['PATH']}:/usr/sbin` });
  test.skipIf(haproxy === null)(
    'HAProxy passes on what nodes say that are not ready, and speaks for them when none is there',
    async () => {
      const { cert, key } = (await readTls({ kind: 'self-signed' }, folder)) ?? { cert: '', key: '' };
      const pem = join(folder, 'outage.pem');
      writeFileSync(pem, `${cert}\n${key}`);
      let checks = 0;
      // Answers as a node does whose database is away.
      const node = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        fetch({ url }) {
          if (!url.endsWith('/readyz'))
            return new Response('of the node', { status: 500, headers: { 'retry-after': '7' } });
          checks++;
          return new Response('', { status: 503 });
        },
      });
      const socket = join(folder, 'public.sock');
      const file = join(folder, 'outage.cfg');
      writeFileSync(
        file,
        read('haproxy.cfg')
          .replace(/^ {2}bind :8080\n/m, '')
          .replace('bind :8443', `bind unix@${socket}`)
          .replace('/etc/haproxy/tls.pem', pem)
          .replace('maxconn 20000', 'maxconn 100')
          .replaceAll(/node\d:8700/g, `127.0.0.1:${node.port}`),
      );
      const proxy = Bun.spawn([haproxy ?? '', '-db', '-f', file], { stdio: ['ignore', 'ignore', 'ignore'] });
      const ask = async (): Promise<[number, string | null, string]> => {
        const init = { unix: socket, tls: { rejectUnauthorized: false }, keepalive: false };
        const answer = await fetch('https://localhost/v1/models', init).catch(() => undefined);
        return [
          answer?.status ?? 0,
          answer?.headers.get('retry-after') ?? null,
          (await answer?.text()) ?? '',
        ];
      };
      try {
        await eventually('it listens', async () => (await ask())[0] !== 0);
        // Two checks of each server find it unready; more of them say that the proxy has acted on those.
        await eventually('it knows that no node is ready', () => checks > 8);
        expect(await ask()).toEqual([500, '7', 'of the node']);
        await node.stop(true);
        expect(await ask()).toEqual([503, '1', body]);
      } finally {
        proxy.kill('SIGTERM');
        await proxy.exited;
        await node.stop(true);
      }
    },
    60_000,
  );
});

describe('the unit of systemd', () => {
  const lines = read('tollgate.service').split('\n');
  const value = (key: string): string =>
    lines.find((line) => line.startsWith(`${key}=`))?.slice(key.length + 1) ?? '';

  test('settings that exist, a folder that it may write, one signal to the first process, and time to stop', () => {
    // Commands in a shell read the same file.
    expect(value('EnvironmentFile')).toBe('/etc/tollgate.env');
    expect(lines.filter((line) => line.startsWith('Environment='))).toEqual([]);
    const variables = read('tollgate.env')
      .split('\n')
      .filter((line) => /^\w+=/.test(line))
      .map((line) => line.split('='));
    expect(variables.filter(([name = '']) => !known(name))).toEqual([]);
    expect(new Map(variables as [string, string][]).get('TOLLGATE_DATA')).toBe(
      `/var/lib/${value('StateDirectory')}`,
    );
    expect(value('KillMode')).toBe('mixed');
    expect(Number(value('TimeoutStopSec'))).toBeGreaterThan(LONGEST_STOP_SECONDS);
    expect(value('ExecStart')).toBe('/usr/local/bin/tollgate serve');
    expect(value('ExecReload')).toBe('/bin/kill -HUP $MAINPID');
    expect(['root', '']).not.toContain(value('User'));
    // The engine compiles while it runs.
    expect(value('MemoryDenyWriteExecute')).toBe('');
  });

  test.skipIf(ANALYZE === null)('systemd takes it, where it is installed', () => {
    expect(complaintsAbout('tollgate.service')).toEqual([]);
  });
});

describe('backups by a timer', () => {
  const service = read('tollgate-backup.service');

  test('the unit has the settings of the server and may write the folder of backups', () => {
    expect(service).toContain('\nEnvironmentFile=/etc/tollgate.env\n');
    const [, backups = ''] = /^ExecStart=\S+ (\S+) \/usr\/local\/bin\/tollgate backup$/m.exec(service) ?? [];
    expect(service).toContain(`\nReadWritePaths=${backups}\n`);
    const shared = /^(?:User|Group|StateDirectory|Protect\w+|RestrictAddressFamilies)=.*$/gm;
    expect(service.match(shared)).toEqual(read('tollgate.service').match(shared));
  });

  test.skipIf(ANALYZE === null)('systemd takes the unit and the timer, where it is installed', () => {
    expect(complaintsAbout('tollgate-backup.service', 'tollgate-backup.timer')).toEqual([]);
  });

  test('writes a backup that can be restored, has it copied away, and deletes those that are too old', async () => {
    const home = await homeWithStore();
    const old = oldBackup(home);
    const away = join(home, 'away');
    const { code, output } = await backUp(home, {
      BACKUP_COPY: `mkdir ${away} && cp ${home}/backups/* ${away}`,
    });
    expect(code).toBe(0);
    const [made = '', ...others] = backupsIn(home);
    expect([output.trim().split('\n').at(-1), others]).toEqual([join(home, 'backups', made), []]);
    expect(existsSync(old)).toBe(false);
    expect(readdirSync(away).toSorted()).toEqual([OLD_BACKUP, made]);
    expect(statSync(join(home, 'backups', made)).mode & 0o777).toBe(0o600);

    const restored = { ...env(home), TOLLGATE_DATA: join(home, 'restored') };
    expect((await run([...TOLLGATE, 'restore', join(away, made)], restored)).code).toBe(0);
    expect((await run([...TOLLGATE, 'account', 'list'], restored)).output).toContain('you@example.com');
  });

  test.each([
    ['that failed', BROKEN_OFF_DUMP, {}],
    ['that could not be copied away', undefined, { BACKUP_COPY: 'exit 7' }],
  ])('after one %s none is deleted, and the unit fails', async (_, command, settings) => {
    const home = await homeWithStore();
    const old = oldBackup(home);
    expect((await backUp(home, settings, command)).code).not.toBe(0);
    expect(existsSync(old)).toBe(true);
    expect(backupsIn(home).filter((name) => name.endsWith('.unfinished'))).toEqual([]);
  });

  test('of compose.yaml are made by the same program', () => {
    const { services } = parse(read('compose.yaml'), { merge: true }) as {
      readonly services: { readonly backup: ComposeService & { readonly command: readonly string[] } };
    };
    const { command, volumes, environment } = services.backup;
    expect(volumes).toContain('./tollgate-backup.sh:/usr/local/bin/tollgate-backup:ro');
    expect(command.at(-1)).toContain('sh /usr/local/bin/tollgate-backup /backups pg_dump --format=custom');
    expect(volumes).toContain('./backups:/backups');
    expect(environment).toMatchObject({ PGHOST: 'postgres', PGUSER: 'tollgate', PGDATABASE: 'tollgate' });
    expect(Bun.spawnSync(['sh', '-n', '-c', command.at(-1) ?? '']).exitCode).toBe(0);
  });
});

/** What systemd says about these units, of programs and users that are here. */
function complaintsAbout(...names: readonly string[]): string[] {
  const units = mkdtempSync(join(folder, 'units-'));
  for (const name of names) {
    const lines = read(name)
      .split('\n')
      .filter((line) => !/^(User|Group)=/.test(line));
    writeFileSync(
      join(units, name),
      lines.map((line) => line.replace(/^ExecStart=.*/, 'ExecStart=/bin/true')).join('\n'),
    );
  }
  const checked = Bun.spawnSync([ANALYZE ?? '', 'verify', ...names.map((name) => join(units, name))], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = checked.stderr.toString().split('\n');
  return said.filter((line) => names.some((name) => line.includes(name)));
}

const OLD_BACKUP = 'tollgate-2020-01-01T000000Z.dump';

/** A folder with a store that has an account, and an empty one for backups. */
async function homeWithStore(): Promise<string> {
  const home = mkdtempSync(join(folder, 'home-'));
  mkdirSync(join(home, 'backups'));
  expect((await run([...TOLLGATE, 'account', 'create', 'you@example.com'], env(home))).code).toBe(0);
  return home;
}

function oldBackup(home: string): string {
  const path = join(home, 'backups', OLD_BACKUP);
  writeFileSync(path, 'of long ago');
  utimesSync(path, 0, 0);
  return path;
}

function backupsIn(home: string): string[] {
  return readdirSync(join(home, 'backups')).toSorted();
}

function env(home: string): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    TOLLGATE_DATA: join(home, 'data'),
    TOLLGATE_SECRET: 'a secret of the tests of backups',
    TOLLGATE_ENV_FILE: '/dev/null',
  };
}

function backUp(
  home: string,
  settings: Readonly<Record<string, string>>,
  command: readonly string[] = [...TOLLGATE, 'backup'],
) {
  const words = ['sh', join(DEPLOY, 'tollgate-backup.sh'), join(home, 'backups'), ...command];
  return run(words, { ...env(home), ...settings });
}

async function run(words: readonly string[], variables: Readonly<Record<string, string>>) {
  const child = Bun.spawn([...words], { cwd: folder, env: variables, stdio: ['ignore', 'pipe', 'ignore'] });
  const output = await new Response(child.stdout).text();
  return { code: await child.exited, output };
}
