import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ProxyKind {
  readonly name: string;
  readonly command: string;
  /** How long it needs at most until it uses a node again that came back. */
  readonly noticeMs: number;
  start(port: number, nodePorts: readonly number[]): Promise<RunningProxy>;
}

interface RunningProxy {
  stop(): Promise<void>;
}

export const PROXIES: readonly ProxyKind[] = [
  {
    name: 'nginx, defaults',
    command: 'nginx',
    // After a refused connection nginx leaves a server alone for `fail_timeout`, 10 s by default.
    noticeMs: 11_000,
    start: (port, nodePorts) =>
      run('nginx', nginxConfig(port, nodePorts), (file, folder) => ['nginx', '-p', folder, '-c', file]),
  },
  {
    name: 'HAProxy',
    command: 'haproxy',
    noticeMs: 3_000,
    start: (port, nodePorts) =>
      run('haproxy', haproxyConfig(port, nodePorts), (file) => ['haproxy', '-db', '-f', file]),
  },
];

/** Nothing but what nginx needs to run in the foreground; `upstream` and `proxy_pass` as in its manual. */
function nginxConfig(port: number, nodePorts: readonly number[]): string {
  return `
daemon off;
pid nginx.pid;
error_log stderr crit;
events {}
http {
  access_log off;
  upstream tollgate {
${nodePorts.map((node) => `    server 127.0.0.1:${node};`).join('\n')}
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://tollgate;
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

async function run(
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
    stop: async () => {
      child.kill('SIGTERM');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
