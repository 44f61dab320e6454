import { join } from 'node:path';
import { CHAT_MODEL, IMAGE_MODEL, THINKING_MODEL } from '../backend/backend.ts';
import type { AccountWish, AdapterContext, Gateway } from '../gateway.ts';
import { freePort, launch, type Launched } from '../machine/process.ts';
import type { Fault } from './faults.ts';

const WIDE = 1_000_000;

/** The wrong gateway on two nodes. Which fault an account has is asked when it is opened. */
export async function startWrongGateway(
  { backend, folder }: AdapterContext,
  faults: () => readonly Fault[],
): Promise<Gateway> {
  const script = join(import.meta.dir, 'wrong-gateway.ts');
  const ports = [await freePort(), await freePort()];
  const [first = 0] = ports;
  const start = (port: number): Promise<Launched> =>
    launch({
      name: `wrong gateway ${port}`,
      command: [process.execPath, script, String(port), join(folder, 'books.sqlite'), backend.url],
      env: { BUN_CONFIG_MAX_HTTP_REQUESTS: '1000' },
      folder,
      port,
    });
  const running: Launched[] = [];
  for (const port of ports) running.push(await start(port));
  const url = `http://127.0.0.1:${first}`;
  return {
    version: 'the wrong gateway',
    settings: [],
    shims: [],
    nodes: ports.map((port) => `http://127.0.0.1:${port}/v1`),
    chatModel: CHAT_MODEL,
    thinkingModel: THINKING_MODEL,
    imageModel: IMAGE_MODEL,
    limitsBy: 'last minute',
    settleMs: 300,
    recoverMs: 1_000,
    money: { takesBack: true, account: (wish) => account(url, wish, faults()) },
    async restartKilled() {
      running[0]?.signal('SIGKILL');
      await running[0]?.exited;
      running[0] = await start(first);
    },
    async freeze(ms) {
      running[0]?.signal('SIGSTOP');
      await Bun.sleep(ms);
      running[0]?.signal('SIGCONT');
    },
    async stop() {
      for (const { signal } of running) signal('SIGKILL');
      await Promise.all(running.map(({ exited }) => exited));
    },
  };
}

async function account(
  url: string,
  { usd, requestsPerMinute = WIDE }: AccountWish,
  faults: readonly Fault[],
) {
  const post = async (path: string, body: object): Promise<{ readonly token?: string }> => {
    const response = await fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
    return (await response.json()) as { readonly token?: string };
  };
  const { token } = await post('/admin/account', { usd, perMinute: requestsPerMinute, faults });
  const headers = { authorization: `Bearer ${token}` };
  return {
    headers,
    async spentUsd() {
      const response = await fetch(`${url}/v1/account`, { headers });
      const { available_usd: available } = (await response.json()) as { readonly available_usd: number };
      return Number((usd - available).toFixed(9));
    },
    async takeBack(amount: number) {
      await post('/admin/debit', { token, usd: amount });
    },
  };
}
