import { join } from 'node:path';
import { CHAT_MODEL, IMAGE_MODEL, THINKING_MODEL } from '../backend/backend.ts';
import type { AccountWish, AdapterContext, Gateway } from '../gateway.ts';
import { Nodes } from '../machine/nodes.ts';
import { launch } from '../machine/process.ts';
import type { Fault } from './faults.ts';

const WIDE = 1_000_000;

/** The wrong gateway on two nodes. Which fault an account has is asked when it is opened. */
export async function startWrongGateway(
  { backend, folder }: AdapterContext,
  faults: () => readonly Fault[],
): Promise<Gateway> {
  const script = join(import.meta.dir, 'wrong-gateway.ts');
  const nodes = await Nodes.start(2, (port) =>
    launch({
      name: `wrong gateway ${port}`,
      command: [process.execPath, script, String(port), join(folder, 'books.sqlite'), backend.url],
      env: { BUN_CONFIG_MAX_HTTP_REQUESTS: '1000' },
      folder,
      port,
    }),
  );
  const [url = ''] = nodes.urls;
  return {
    version: 'the wrong gateway',
    settings: [],
    shims: [],
    nodes: nodes.urls.map((node) => `${node}/v1`),
    chatModel: CHAT_MODEL,
    thinkingModel: THINKING_MODEL,
    imageModel: IMAGE_MODEL,
    limitsBy: 'last minute',
    settleMs: 300,
    recoverMs: 1_000,
    money: { takesBack: true, account: (wish) => account(url, wish, faults()) },
    restartKilled: () => nodes.restartKilled(),
    freeze: (ms) => nodes.freeze(ms),
    stop: () => nodes.stop(),
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
