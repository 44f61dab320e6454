import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, launch } from '../harness/process.ts';
import { libraryPath } from '../harness/tools.ts';
import type { Contender, ContenderContext } from './contender.ts';

/** nginx as a plain reverse proxy with one worker: what forwarding costs without looking at the content. */
export async function startNginx({
  tools,
  backend,
  folder,
}: ContenderContext): Promise<Contender | undefined> {
  if (tools.nginx === undefined) return undefined;
  const port = await freePort();
  const home = join(folder, 'nginx');
  mkdirSync(home, { recursive: true });
  const file = join(home, 'nginx.conf');
  writeFileSync(file, configuration(home, port, backend));
  const { pid, stop } = await launch({
    name: 'nginx',
    command: [tools.nginx, '-p', home, '-c', file, '-e', join(home, 'error.log')],
    env: { LD_LIBRARY_PATH: libraryPath },
    folder,
    port,
  });
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

function configuration(home: string, port: number, backend: string): string {
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
    listen 127.0.0.1:${port};
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
