/**
 * `bun scripts/proxies.ts`: takes the files of Caddy, nginx and HAProxy out of docs/operate.md, puts two nodes on one
 * Postgres behind each of them, and asks over HTTPS for an answer, a stream, a large body and the address that links
 * would have; then it takes the database away, and the nodes, and asks again. The file of HAProxy in deploy/ is tried as
 * well. A proxy that is not installed is named.
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
  /** Absent, the file is in the page. */
  readonly file?: string;
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
  {
    name: 'haproxy',
    file: '../deploy/haproxy.cfg',
    config: (text, { port, folder }) =>
      text
        .replace(/^ {2}bind :8080\n/m, '')
        .replace('bind :8443', `bind 127.0.0.1:${port}`)
        .replace('/etc/haproxy', folder)
        // A machine for tests may not have as many files.
        .replace('maxconn 20000', 'maxconn 1000'),
    command: (file) => ['haproxy', '-db', '-f', file],
  },
];

type Checks = Readonly<Record<string, () => Promise<true | string>>>;

const LARGE_BYTES = 20_000_000;
const MESSAGES = [{ role: 'user', content: 'hello' }];
/** Longer than any of them needs to notice that a node is ready, or is not. */
const NOTICE_MS = 4_000;
const page = readFileSync(join(import.meta.dir, '../docs/operate.md'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-proxies-'));
const postgres = await testPostgres();
const backend = await BackendProcess.start();
const databaseUrl = await postgres.emptyDatabase();
const yaml = catalogFor([backend.baseUrl], { extra: 'trusted_proxies: [127.0.0.1]' });
const env = { TOLLGATE_DATABASE_DEADLINE_MS: '900' };
const nodes = [
  await NodeProcess.start({ yaml, databaseUrl, env }),
  await NodeProcess.start({ yaml, databaseUrl, env }),
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
  const mistakes: string[] = [];
  let asked = 0;
  const ask = async (
    hosts: readonly string[],
    work: (url: string, run: (of: Checks) => Promise<void>) => Promise<void>,
  ) => {
    const proxy = await startProxy(snippet, hosts);
    await work(proxy.url, async (of) => {
      const results = await Promise.all(
        Object.entries(of).map(async ([what, check]) => {
          const result = await check().catch((error: unknown) => String(error));
          return result === true ? [] : [`${what}: ${result}`];
        }),
      );
      asked += results.length;
      mistakes.push(...results.flat());
    });
    await proxy.stop();
  };
  const hosts = nodes.map((node) => new URL(node.url).host);
  await ask(hosts, async (url, run) => {
    await run(checks(url, token));
    await postgres.stopServer();
    await Bun.sleep(NOTICE_MS);
    await run({ 'database away': () => toldToComeBack(url, token) });
    await postgres.startServer();
    await Promise.all(nodes.map((node) => node.ready()));
  });
  const nobody = (await freePorts(2)).map((port) => `127.0.0.1:${port}`);
  await ask(nobody, (url, run) => run({ 'no node': () => toldToComeBack(url, token) }));
  const label = snippet.file === undefined ? name : `${name} (${snippet.file})`;
  console.log(`${label}: ${mistakes.length === 0 ? `${asked} of ${asked}` : mistakes.join('; ')}`);
  return mistakes.length;
}

async function startProxy(
  snippet: Snippet,
  hosts: readonly string[],
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const { name, file } = snippet;
  const [port = 0] = await freePorts(1);
  const text =
    file === undefined
      ? (new RegExp(`\`\`\`${name}\n([^]*?)\`\`\``).exec(page)?.[1] ?? '')
      : readFileSync(join(import.meta.dir, file), 'utf8');
  const addressed = hosts.reduce(
    (config, host, index) =>
      config.replaceAll(`10.0.0.1${index + 1}:8700`, host).replaceAll(`node${index + 1}:8700`, host),
    snippet.config(text, { port, folder }),
  );
  const proxy = await runProxy(name, addressed, (path, home) => snippet.command(path, home));
  // Health checks of the proxy come first.
  await Bun.sleep(NOTICE_MS);
  return { url: `https://localhost:${port}`, stop: () => proxy.stop() };
}

/** In an outage: the error body of the public API, and when to come back. */
async function toldToComeBack(url: string, token: string): Promise<true | string> {
  const response = await chat(url, token, { messages: MESSAGES, max_tokens: 50 });
  const text = await response.text();
  const isOurs = text.startsWith('{"error":{"code":"service_unavailable",');
  if (response.status >= 500 && isOurs && response.headers.get('retry-after') === '1') return true;
  return `status ${response.status}, retry-after ${response.headers.get('retry-after')}: ${text.slice(0, 200)}`;
}

async function chat(url: string, token: string, body: object): Promise<Response> {
  return await fetch(`${url}/api/public/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ endpoint: 'svc_chat', model: 'm', ...body }),
    tls: { rejectUnauthorized: false },
  });
}

/** Each resolves with `true`, or with what was wrong. */
function checks(url: string, token: string): Checks {
  const ask = (body: object): Promise<Response> => chat(url, token, body);
  const messages = MESSAGES;
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
      const response = await fetch(`${url}/chat/completions`, {
        method: 'POST',
        tls: { rejectUnauthorized: false },
      });
      const text = await response.text();
      return text.includes('The base URL is https://localhost') || text.slice(0, 200);
    },
  };
}
