import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, launch, type Launched } from '../../conformance/machine/process.ts';
import { libraryPath } from '../harness/tools.ts';
import type { Contender, ContenderContext } from './contender.ts';

/** nginx as a plain reverse proxy with one worker: what forwarding costs without looking at the content. */
export async function startNginx({
  tools,
  backend,
  folder,
}: ContenderContext): Promise<Contender | undefined> {
  if (tools.nginx === undefined) return undefined;
  const { pid, port, stop } = await launchNginx(tools.nginx, { folder, backend });
  const version = spawnSync(tools.nginx, ['-v'], { encoding: 'utf8' }).stderr.trim().split('/').pop() ?? '';
  return {
    name: 'nginx proxy_pass',
    version: `nginx ${version}`,
    pids: [pid],
    databasePids: [],
    urls: [`http://127.0.0.1:${port}/v1/chat/completions`],
    headers: [{}],
    stop,
  };
}

export interface NginxOptions {
  readonly folder: string;
  /** A URL on the server behind it. */
  readonly backend: string;
  /** With these it serves HTTPS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export async function launchNginx(nginx: string, options: NginxOptions): Promise<Launched> {
  const { folder } = options;
  const port = await freePort();
  const home = join(folder, 'nginx');
  mkdirSync(home, { recursive: true });
  const file = join(home, 'nginx.conf');
  writeFileSync(file, configuration(home, port, options));
  const command = [nginx, '-p', home, '-c', file, '-e', join(home, 'error.log')];
  return await launch({ name: 'nginx', command, env: { LD_LIBRARY_PATH: libraryPath }, folder, port });
}

function configuration(home: string, port: number, { backend, tls }: NginxOptions): string {
  const { host } = new URL(backend);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${home}/${name};`,
  );
  return `
daemon off;
worker_processes 1;
pid ${home}/nginx.pid;
error_log ${home}/error.log;
events { worker_connections 16384; }
http {
  access_log off;
  ${temporary.join('\n  ')}
  keepalive_requests 1000000000;
  client_body_buffer_size 64k;
  upstream backend { server ${host}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port}${tls ? ' ssl' : ''};
    ${tls ? `ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key};` : ''}
    location / {
      proxy_pass http://backend;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
}
