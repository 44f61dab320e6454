/**
 * `bun scripts/proxies.ts`: takes the files of Caddy, nginx and HAProxy out of docs/operate.md, puts two nodes on one
 * Postgres behind each of them, and asks over HTTPS for an answer, a stream, a large body and the address that links
 * would have. A proxy that is not installed is named.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTls } from '../src/http/tls.ts';
import { catalogFor } from '../test/support/gateway.ts';
import { BackendProcess, NodeProcess } from '../test/support/node-process.ts';
import { testPostgres } from '../test/support/postgres.ts';
import { freePorts, runProxy } from './rolling-restart/proxies.ts';

interface Snippet {
  readonly name: 'caddy' | 'nginx' | 'haproxy';
  /** The file as it stands in the page, with the addresses of this run. */
  config(text: string, place: Place): string;
  command(file: string, folder: string): string[];
}

interface Place {
  readonly port: number;
  readonly folder: string;
}

const SNIPPETS: readonly Snippet[] = [
  {
    name: 'caddy',
    config: (text, { port, folder }) =>
      `{\n  admin off\n  auto_https off\n}\n${text.replace('gate.example.com {', `https://localhost:${port} {\n  tls ${folder}/certificate.pem ${folder}/key.pem`)}`,
    command: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
  {
    name: 'nginx',
    config: (text, { port, folder }) =>
      `daemon off;\npid nginx.pid;\nerror_log stderr crit;\nevents {}\nhttp {\n  access_log off;\n${text
        .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
        .replaceAll('/etc/tls', folder)}\n}\n`,
    command: (file, folder) => ['nginx', '-p', folder, '-c', file],
  },
  {
    name: 'haproxy',
    config: (text, { port, folder }) =>
      text.replace('bind :443', `bind 127.0.0.1:${port}`).replaceAll('/etc/tls', folder),
    command: (file) => ['haproxy', '-db', '-f', file],
  },
];

const LARGE_BYTES = 20_000_000;
const page = readFileSync(join(import.meta.dir, '../docs/operate.md'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-proxies-'));
const postgres = await testPostgres();
const backend = await BackendProcess.start();
const databaseUrl = await postgres.emptyDatabase();
const yaml = catalogFor([backend.baseUrl], { extra: 'trusted_proxies: [127.0.0.1]' });
const nodes = [
  await NodeProcess.start({ yaml, databaseUrl }),
  await NodeProcess.start({ yaml, databaseUrl }),
];
let failed = 0;
try {
  const { cert = '', key = '' } = (await readTls({ kind: 'self-signed' }, folder)) ?? {};
  writeFileSync(join(folder, 'certificate.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'tls.pem'), `${cert}\n${key}`);
  const made = await nodes[0]?.cli('account', 'create', 'a@example.com', '--balance', '100', '--json');
  const { token } = JSON.parse(made?.output ?? '{}') as { token: string };
  for (const snippet of SNIPPETS) failed += await tryProxy(snippet, token);
} finally {
  await Promise.all(nodes.map((node) => node.stop()));
  await backend.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);

async function tryProxy(snippet: Snippet, token: string): Promise<number> {
  const { name } = snippet;
  if (Bun.which(name) === null) {
    console.log(`${name}: not installed`);
    return 0;
  }
  const [port = 0] = await freePorts(1);
  const text = new RegExp(`\`\`\`${name}\n([^]*?)\`\`\``).exec(page)?.[1] ?? '';
  const addressed = nodes.reduce(
    (config, node, index) => config.replaceAll(`10.0.0.1${index + 1}:8700`, new URL(node.url).host),
    snippet.config(text, { port, folder }),
  );
  const proxy = await runProxy(name, addressed, (file, home) => snippet.command(file, home));
  // Health checks of the proxy come first.
  await Bun.sleep(3_000);
  const results = await Promise.all(
    Object.entries(checks(`https://localhost:${port}`, token)).map(async ([what, check]) => {
      const result = await check().catch((error: unknown) => String(error));
      return result === true ? undefined : `${what}: ${result}`;
    }),
  );
  await proxy.stop();
  const mistakes = results.filter((result) => result !== undefined);
  console.log(
    `${name}: ${mistakes.length === 0 ? `${results.length} of ${results.length}` : mistakes.join('; ')}`,
  );
  return mistakes.length;
}

/** Each resolves with `true`, or with what was wrong. */
function checks(url: string, token: string): Record<string, () => Promise<true | string>> {
  const ask = async (body: object): Promise<Response> =>
    await fetch(`${url}/api/public/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ endpoint: 'svc_chat', model: 'm', ...body }),
      tls: { rejectUnauthorized: false },
    });
  const messages = [{ role: 'user', content: 'hello' }];
  return {
    answer: async () => {
      const response = await ask({ messages, max_tokens: 50 });
      return response.status === 200 || `status ${response.status}: ${await response.text()}`;
    },
    stream: async () => {
      const script = { chunks: 10, everyMs: 100 };
      const response = await ask({ messages, max_tokens: 50, stream: true, script });
      const arrivals: number[] = [];
      let text = '';
      for await (const bytes of response.body ?? []) {
        arrivals.push(performance.now());
        text += Buffer.from(bytes).toString('utf8');
      }
      const spread = (arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0);
      if (!text.includes('[DONE]')) return `cut: ${text.slice(-100)}`;
      return spread > 400 || `came within ${Math.round(spread)} ms, so it was kept back`;
    },
    'large body': async () => {
      const response = await ask({
        messages: [{ role: 'user', content: 'x'.repeat(LARGE_BYTES) }],
        max_tokens: 50,
      });
      return response.status === 200 || `${response.status} ${(await response.text()).slice(0, 200)}`;
    },
    'address of links': async () => {
      const response = await fetch(`${url}/chat/completions`, { tls: { rejectUnauthorized: false } });
      const text = await response.text();
      return text.includes('The base URL is https://localhost') || text.slice(0, 200);
    },
  };
}
