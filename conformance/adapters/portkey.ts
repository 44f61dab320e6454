import { CHAT_MODEL } from '../backend/backend.ts';
import type { Adapter, AdapterContext, Gateway } from '../gateway.ts';
import { installPeer } from '../machine/install.ts';
import { nodeProgram } from '../machine/node.ts';
import { Nodes } from '../machine/nodes.ts';
import { launch, type Launched } from '../machine/process.ts';

const VERSION = '1.15.2';
/** With a newer one every stream ends in 500: https://github.com/Portkey-AI/gateway/issues/1389 */
const SERVER_VERSION = '1.14.1';
export const PORTKEY_VERSION = `@portkey-ai/gateway ${VERSION} (@hono/node-server ${SERVER_VERSION})`;

/** https://github.com/Portkey-AI/gateway; it keeps no money, so only what its backend sees is judged. */
export const portkey: Adapter = {
  name: 'portkey',
  about: "Portkey's gateway, one node; it forwards and keeps no balances",
  start: startPortkey,
};

async function startPortkey({ backend, folder }: AdapterContext): Promise<Gateway> {
  const nodes = await Nodes.start(1, (port) => launchPortkey({ folder, port }));
  return {
    version: PORTKEY_VERSION,
    settings: [
      'NODE_ENV=production, TRUSTED_CUSTOM_HOSTS for a backend on this machine',
      'retries as they come: none unless a request asks for them',
    ],
    shims: [],
    nodes: nodes.urls.map((url) => `${url}/v1`),
    chatModel: CHAT_MODEL,
    thinkingModel: CHAT_MODEL,
    headers: portkeyHeaders(backend.url),
    limitsBy: 'clock',
    settleMs: 0,
    recoverMs: 0,
    stop: () => nodes.stop(),
  };
}

export async function launchPortkey({
  folder,
  port,
}: {
  readonly folder: string;
  readonly port: number;
}): Promise<Launched> {
  const manifest = {
    dependencies: { '@portkey-ai/gateway': VERSION },
    overrides: { '@hono/node-server': SERVER_VERSION },
  };
  const script = installPeer({
    name: 'portkey',
    version: VERSION,
    program: 'node_modules/@portkey-ai/gateway/build/start-server.js',
    files: { 'package.json': JSON.stringify(manifest) },
    commands: (prefix) => [['npm', 'install', '--no-audit', '--no-fund', '--prefix', prefix]],
  });
  return await launch({
    name: 'portkey',
    command: [nodeProgram(), script, `--port=${port}`, '--headless'],
    // It refuses backends on loopback unless they are named.
    env: { NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost' },
    folder,
    port,
  });
}

/** Whose answers it forwards is said by each request. */
export function portkeyHeaders(backend: string): Readonly<Record<string, string>> {
  return {
    authorization: 'Bearer sk-backend',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': backend,
  };
}
