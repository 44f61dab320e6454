import { join } from 'node:path';
import { freePort, launch } from '../../conformance/machine/process.ts';
import { nodeVersion } from '../harness/tools.ts';
import type { Contender, ContenderContext } from './contender.ts';

/** Bun allows 256 calls at once unless told otherwise; a gateway that waits for itself would not be a fair measure. */
const MANY_CALLS = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65000' };

/** The bare Bun forwarder, which every ratio is taken to. */
export async function startBunForwarder({
  backend,
  folder,
}: Pick<ContenderContext, 'backend' | 'folder'>): Promise<Contender> {
  const script = join(import.meta.dir, 'bun-forwarder.ts');
  return await forwarder({
    name: 'bare Bun forwarder',
    version: `Bun ${Bun.version}`,
    folder,
    env: MANY_CALLS,
    command: (port) => [process.execPath, script, String(port), backend],
  });
}

export async function startNodeForwarder({
  tools,
  backend,
  folder,
}: ContenderContext): Promise<Contender | undefined> {
  const { node } = tools;
  if (node === undefined) return undefined;
  const script = join(import.meta.dir, 'node-forwarder.ts');
  const undici = (await import('undici/package.json')) as { readonly version: string };
  return await forwarder({
    name: 'bare Node + undici forwarder',
    version: `Node ${nodeVersion(node)}, undici ${undici.version}`,
    folder,
    env: { NODE_ENV: 'production' },
    command: (port) => [node, script, String(port), backend],
  });
}

interface Forwarder {
  readonly name: string;
  readonly version: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly command: (port: number) => readonly string[];
}

async function forwarder({ name, version, folder, env, command }: Forwarder): Promise<Contender> {
  const port = await freePort();
  const { pid, stop } = await launch({ name, command: command(port), env, folder, port });
  const urls = [`http://127.0.0.1:${port}/v1/chat/completions`];
  return { name, version, pids: [pid], databasePids: [], urls, headers: [{}], stop };
}
