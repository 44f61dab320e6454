import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPeer } from '../../conformance/machine/install.ts';
import { freePort, launch } from '../../conformance/machine/process.ts';
import { installLiteLlm, launchLiteLlm, LITELLM_VERSION } from '../../conformance/adapters/litellm.ts';
import { launchPortkey, PORTKEY_VERSION, portkeyHeaders } from '../../conformance/adapters/portkey.ts';
import type { Contender, ContenderContext } from './contender.ts';

/**
 * Other gateways, each as its own documentation starts it, with logs and telemetry off where it lets us and no database:
 * they forward, at most check one key, and count no money.
 */
export const PEER_NAMES = {
  portkey: "Portkey's gateway",
  liteLlm: "LiteLLM's proxy",
  bifrost: 'Bifrost',
} as const;

const BIFROST_VERSION = 'v1.3.9';
/** A Python program of this size takes its time to load, more so on a busy machine. */
const SLOW_START_MS = 120_000;

/** https://github.com/Portkey-AI/gateway */
export async function startPortkey({ backend, folder }: ContenderContext): Promise<Contender> {
  const port = await freePort();
  const { pid, stop } = await launchPortkey({ folder, port });
  return {
    name: PEER_NAMES.portkey,
    version: PORTKEY_VERSION,
    pids: [pid],
    databasePids: [],
    urls: [`http://127.0.0.1:${port}/v1/chat/completions`],
    headers: [portkeyHeaders(backend)],
    stop,
  };
}

/** https://docs.litellm.ai/docs/proxy/configs, without a database. */
export async function startLiteLlm({ backend, folder }: ContenderContext): Promise<Contender> {
  const program = installLiteLlm();
  const home = join(folder, 'litellm');
  mkdirSync(home, { recursive: true });
  const config = join(home, 'config.yaml');
  // A model without a known price costs it half as much CPU again, so the backend's model gets a name that it knows.
  // It does not start without a master key, nor with one that can be guessed.
  const masterKey = `sk-${randomBytes(24).toString('hex')}`;
  writeFileSync(
    config,
    `model_list:
  - model_name: m
    litellm_params: { model: openai/gpt-4o, api_base: "${backend}", api_key: sk-backend }
general_settings: { master_key: ${masterKey} }
`,
  );
  const port = await freePort();
  const { pid, stop } = await launchLiteLlm({ program, config, folder: home, port });
  return {
    name: PEER_NAMES.liteLlm,
    version: `litellm ${LITELLM_VERSION}, one worker`,
    pids: [pid],
    databasePids: [],
    urls: [`http://127.0.0.1:${port}/v1/chat/completions`],
    headers: [{ authorization: `Bearer ${masterKey}` }],
    stop,
  };
}

/** https://docs.getbifrost.ai/deployment-guides/config-json, from a file alone and without request logs. */
export async function startBifrost({ backend, folder }: ContenderContext): Promise<Contender> {
  const program = installPeer({
    name: 'bifrost',
    version: BIFROST_VERSION,
    program: 'bifrost-http',
    commands: () => [
      ['go', 'install', `github.com/maximhq/bifrost/transports/bifrost-http@${BIFROST_VERSION}`],
    ],
    env: (bin) => ({ GOBIN: bin }),
  });
  const home = join(folder, 'bifrost');
  mkdirSync(home, { recursive: true });
  const key = { name: 'bench', value: 'sk-backend', models: ['m'], weight: 1 };
  const config = {
    client: { enable_logging: false, drop_excess_requests: false },
    // It adds /v1 itself.
    providers: { openai: { keys: [key], network_config: { base_url: new URL(backend).origin } } },
    config_store: { enabled: false },
    logs_store: { enabled: false },
  };
  writeFileSync(join(home, 'config.json'), JSON.stringify(config));
  return await startPeer({
    name: PEER_NAMES.bifrost,
    version: `bifrost-http ${BIFROST_VERSION}`,
    folder,
    env: {},
    command: (port) =>
      [program, '-app-dir', home, '-host', '127.0.0.1', '-port', String(port)].concat([
        '-log-level',
        'error',
      ]),
    // On this path a model without a provider's name is OpenAI's.
    path: '/openai/v1/chat/completions',
    headers: {},
  });
}

interface Peer {
  readonly name: string;
  readonly version: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly command: (port: number) => readonly string[];
}

async function startPeer({ name, version, folder, env, path, headers, command }: Peer): Promise<Contender> {
  const port = await freePort();
  const started = await launch({ name, command: command(port), env, folder, port, startMs: SLOW_START_MS });
  const urls = [`http://127.0.0.1:${port}${path}`];
  return {
    name,
    version,
    pids: [started.pid],
    databasePids: [],
    urls,
    headers: [headers],
    stop: started.stop,
  };
}
