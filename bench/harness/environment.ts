import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, launch } from '../../conformance/machine/process.ts';

export interface BenchEnvironment {
  readonly folder: string;
  /** Base URL of the mock backend. */
  readonly backend: string;
  readonly backendPid: number;
  close(): Promise<void>;
}

const UPSTREAM = join(import.meta.dir, '../upstream/server.ts');

/** A folder that goes away at the end, and the mock backend in a process of its own. */
export async function openBenchEnvironment(): Promise<BenchEnvironment> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-run-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.on('exit', remove);
  const port = await freePort();
  const command = [process.execPath, UPSTREAM, String(port)];
  const upstream = await launch({ name: 'mock backend', command, folder, port });
  return {
    folder,
    backend: `http://127.0.0.1:${port}/v1`,
    backendPid: upstream.pid,
    close: async () => {
      await upstream.stop();
      remove();
    },
  };
}
