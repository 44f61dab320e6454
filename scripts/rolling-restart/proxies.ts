import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ProxyKind {
  readonly name: string;
  readonly command: string;
  /** How long it needs at most until it uses a node again that came back. */
  readonly noticeMs: number;
  start(port: number, nodePorts: readonly number[]): Promise<RunningProxy>;
}

export interface RunningProxy {
  /** For its files; gone when it is stopped. */
  readonly folder: string;
  stop(): Promise<void>;
}

export const PROXIES: readonly ProxyKind[] = [
  {
    name: 'nginx, defaults',
    command: 'nginx',
    // After a refused connection nginx leaves a server alone for `fail_timeout`, 10 s by default.
    noticeMs: 11_000,
    start: (port, nodePorts) => startNginx(nginxConfig(port, nodePorts, NO_KEEPALIVE)),
  },
  {
    name: 'nginx, connections kept',
    command: 'nginx',
    noticeMs: 11_000,
    start: (port, nodePorts) => startNginx(nginxConfig(port, nodePorts, KEEPALIVE)),
  },
  {
    name: 'HAProxy',
    command: 'haproxy',
    noticeMs: 3_000,
    start: (port, nodePorts) =>
      runProxy('haproxy', haproxyConfig(port, nodePorts), (file) => ['haproxy', '-db', '-f', file]),
  },
];

/** HAProxy that takes orders on a socket: its servers can be told to take no new requests. */
export async function startOrderedHaproxy(
  port: number,
  nodePorts: readonly number[],
): Promise<RunningProxy & { order(text: string): Promise<string> }> {
  const config = `global\n  stats socket unix@orders mode 600 level admin\n${haproxyConfig(port, nodePorts)}`;
  const proxy = await runProxy('haproxy', config, (file, folder) => [
    'haproxy',
    '-db',
    '-C',
    folder,
    '-f',
    file,
  ]);
  return {
    ...proxy,
    order: async (text) => {
      const answer = Promise.withResolvers<string>();
      let received = '';
      await Bun.connect({
        unix: join(proxy.folder, 'orders'),
        socket: {
          open: (socket) => void socket.write(`${text}\n`),
          data: (_, bytes) => void (received += bytes.toString()),
          close: () => answer.resolve(received),
          error: (_, error) => answer.reject(error),
        },
      });
      return await answer.promise;
    },
  };
}

const NO_KEEPALIVE = { upstream: '', location: '' };
/** As in docs/operate.md. */
const KEEPALIVE = {
  upstream: '    keepalive 64;',
  location: '      proxy_http_version 1.1;\n      proxy_set_header Connection "";',
};

function startNginx(config: string): Promise<RunningProxy> {
  return runProxy('nginx', config, (file, folder) => ['nginx', '-p', folder, '-c', file]);
}

/** Nothing but what nginx needs to run in the foreground and in a folder of its own; `upstream` and `proxy_pass` as in its manual. */
function nginxConfig(port: number, nodePorts: readonly number[], keep: typeof NO_KEEPALIVE): string {
  return `
daemon off;
pid nginx.pid;
error_log stderr crit;
events {}
http {
  access_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `  ${name}_temp_path ${name};`).join('\n')}
  upstream tollgate {
${nodePorts.map((node) => `    server 127.0.0.1:${node};`).join('\n')}
${keep.upstream}
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://tollgate;
${keep.location}
    }
  }
}
`;
}

function haproxyConfig(port: number, nodePorts: readonly number[]): string {
  return `
defaults
  mode http
  timeout connect 5s
  timeout client 120s
  timeout server 120s
frontend public
  bind 127.0.0.1:${port}
  default_backend tollgate
backend tollgate
  balance leastconn
  option httpchk GET /readyz
  option redispatch
  default-server check inter 1s fall 2 rise 2
${nodePorts.map((node, index) => `  server node${index} 127.0.0.1:${node}`).join('\n')}
`;
}

export async function runProxy(
  name: string,
  config: string,
  command: (file: string, folder: string) => string[],
): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${name}-`));
  const file = join(folder, `${name}.conf`);
  writeFileSync(file, config);
  const child = Bun.spawn(command(file, folder), { stdio: ['ignore', 'ignore', 'inherit'] });
  // Both listen as soon as they have read their file.
  await Bun.sleep(500);
  if (child.exitCode !== null) throw new Error(`${name} did not start`);
  return {
    folder,
    stop: async () => {
      child.kill('SIGTERM');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Ports that were free a moment ago: a proxy must be told its own before it starts. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports: number[] = [];
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // A TCP server's address is an object with a port.
    ports.push((server.address() as AddressInfo).port);
  }
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
