import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import { BUN_SETTINGS } from '../../src/main/bun-settings.ts';
import { tablesOf } from './dump.ts';
import { METRICS_TOKEN, metricsOf, UsedSecrets } from './leaks.ts';
import type { BackendStats } from './raw-backend.ts';

export interface NodeOptions {
  /** The catalog file; absent, the catalog lives in the store. */
  readonly yaml?: string;
  readonly databaseUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of Bun, before the program. */
  readonly bunFlags?: readonly string[];
  /** The hard limit of its open files. */
  readonly maxFiles?: number;
  /** The folder of another version of Tollgate; absent, this one. */
  readonly root?: string;
}

/** The secret of every node of these tests; a canary as well, since no log line may hold it. */
export const NODE_SECRET = 'canary-secret-of-the-test-nodes';
const ROOT = join(import.meta.dir, '../..');
/** Where a whole run of the tests has built it. */
const BINARY = process.env['TOLLGATE_TEST_BINARY'];

/** A Tollgate as its operator runs it: a process that can be killed, stopped, and started again on the same data. */
export class NodeProcess {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly #maxFiles: number | undefined;
  readonly #program: readonly string[];
  #child: Subprocess<'ignore', 'pipe', 'pipe'> | undefined;
  #url = '';
  #log = '';
  /** What it printed when it was ready. */
  greeting = '';

  private constructor(options: NodeOptions) {
    this.folder = mkdtempSync(join(tmpdir(), 'tollgate-node-'));
    this.#maxFiles = options.maxFiles;
    this.#program = programFor(options);
    const config = join(this.folder, 'tollgate.yaml');
    if (options.yaml !== undefined) writeFileSync(config, options.yaml);
    mkdirSync(join(this.folder, 'data'), { mode: 0o700 });
    this.env = {
      ...(options.yaml === undefined ? {} : { TOLLGATE_CONFIG: config }),
      TOLLGATE_DATA: join(this.folder, 'data'),
      TOLLGATE_PORT: '0',
      TOLLGATE_METRICS_TOKEN: METRICS_TOKEN,
      TOLLGATE_SECRET: NODE_SECRET,
      // What happens before the listener closes is the subject of one test, and a pause in all others.
      TOLLGATE_DRAIN_SECONDS: '0',
      // A busy machine is no reason for a request to fail where the test is about something else.
      ...(options.databaseUrl === undefined
        ? {}
        : { DATABASE_URL: options.databaseUrl, TOLLGATE_DATABASE_DEADLINE_MS: '30000' }),
      ...options.env,
    };
  }

  static async start(options: NodeOptions): Promise<NodeProcess> {
    const { node, starting } = NodeProcess.launch(options);
    await starting;
    return node;
  }

  /** One that may have to wait before it is ready, or never be. */
  static launch(options: NodeOptions): { readonly node: NodeProcess; readonly starting: Promise<void> } {
    const node = new NodeProcess(options);
    const starting = node.restart();
    // Whoever waits for it gets the failure.
    starting.catch(() => undefined);
    return { node, starting };
  }

  /** On the same data as before, on a new port. */
  async restart(): Promise<void> {
    // A file that grows too large must be an error to the program, as a full disk is, and not its end.
    const command = [
      'sh',
      '-c',
      `trap '' XFSZ; ${this.#maxFiles === undefined ? '' : `ulimit -n ${this.#maxFiles}; `}exec "$@"`,
      'sh',
      ...this.#program,
      'serve',
    ];
    const child = Bun.spawn(command, {
      cwd: this.folder,
      // Set, they spare the server the start in which it would set them itself.
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: this.folder,
        ...BUN_SETTINGS,
        ...this.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    remember(child);
    void this.#collect(child.stderr);
    this.#url = await this.#greeting(child);
    await this.ready();
  }

  get url(): string {
    return this.#url;
  }

  get pid(): number {
    return this.#running().pid;
  }

  /** Everything it wrote to standard error, across all restarts. */
  get log(): string {
    return this.#log;
  }

  signal(signal: NodeJS.Signals): void {
    this.#running().kill(signal);
  }

  /** Resolves with the exit code; `null` when a signal ended it. */
  async exited(): Promise<number | null> {
    const child = this.#running();
    await child.exited;
    return child.exitCode;
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited();
  }

  /** Fails the test if a secret was written down anywhere. */
  async stop(): Promise<void> {
    const isAlive = this.#child?.exitCode === null && this.#child.signalCode === null;
    const metrics = isAlive ? await metricsOf(this.#url, this.env['TOLLGATE_METRICS_TOKEN']) : '';
    if (isAlive) await this.kill();
    const { TOLLGATE_DATA: dataDir = '', DATABASE_URL: databaseUrl } = this.env;
    const tables = await tablesOf(dataDir, databaseUrl);
    rmSync(this.folder, { recursive: true, force: true });
    new UsedSecrets(this.env).requireNone({ url: this.#url, log: this.#log, metrics, tables });
  }

  get alive(): boolean {
    const child = this.#running();
    return child.exitCode === null && child.signalCode === null;
  }

  /** Resolves once /readyz says so; a node that does not within 20 s has failed. */
  async ready(): Promise<void> {
    await eventually('the node is ready', async () => (await this.probe('/readyz')) === 200, 20_000);
  }

  /** A health path's status; 0 when nothing answers. */
  async probe(path: '/readyz' | '/healthz'): Promise<number> {
    try {
      const response = await fetch(`${this.url}${path}`, {
        signal: AbortSignal.timeout(5_000),
        keepalive: false,
        // Of a node that serves HTTPS by a certificate of its own.
        tls: { rejectUnauthorized: false },
      });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return 0;
    }
  }

  rssMegabytes(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  }

  /** The most that it ever had. */
  mostMegabytes(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
  }

  /** How long its main thread has run, and how long it was ready to run and had no processor. */
  mainThread(): { ranMs: number; waitedMs: number } {
    const times = readFileSync(`/proc/${this.pid}/task/${this.pid}/schedstat`, 'utf8').split(' ');
    const [ranMs = 0, waitedMs = 0] = times.map((nanoseconds) => Math.round(Number(nanoseconds) / 1e6));
    return { ranMs, waitedMs };
  }

  openSockets(): number {
    const folder = `/proc/${this.pid}/fd`;
    return readdirSync(folder).filter((name) => linkOf(join(folder, name)).startsWith('socket:')).length;
  }

  /** A command of the CLI on this node's store, beside the running server. */
  async cli(...words: readonly string[]): Promise<{ code: number; output: string }> {
    const child = Bun.spawn([...this.#program, ...words], {
      cwd: this.folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: this.folder, ...this.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const output = await new Response(child.stdout).text();
    return { code: await child.exited, output };
  }

  #running(): Subprocess<'ignore', 'pipe', 'pipe'> {
    if (!this.#child) throw new Error('the node was never started');
    return this.#child;
  }

  async #greeting(child: Subprocess<'ignore', 'pipe', 'pipe'>): Promise<string> {
    let text = '';
    for await (const bytes of child.stdout) {
      text += Buffer.from(bytes).toString('utf8');
      const found = /ready at (\S+)/.exec(text)?.[1];
      if (found === undefined) continue;
      this.greeting = text;
      return found;
    }
    throw new Error(`the node did not start: ${this.#log}${text}`);
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of stream) this.#log += decoder.decode(bytes, { stream: true });
  }
}

function programFor({ bunFlags = [], root }: NodeOptions): readonly string[] {
  if (BINARY !== undefined && bunFlags.length === 0 && root === undefined) return [BINARY];
  return [process.execPath, ...bunFlags, join(root ?? ROOT, 'src/main/main.ts')];
}

/** The command before its arguments. */
export const PROGRAM = programFor({});

/** The backend of raw-backend.ts, in its own process. */
export class BackendProcess {
  readonly #child: Subprocess<'pipe', 'pipe', 'inherit'>;
  readonly #port: string;

  private constructor(child: Subprocess<'pipe', 'pipe', 'inherit'>, port: string) {
    this.#child = child;
    this.#port = port;
  }

  static async start(): Promise<BackendProcess> {
    const child = Bun.spawn([process.execPath, 'run', join(import.meta.dir, 'raw-backend.ts')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    remember(child);
    const { value } = await child.stdout.getReader().read();
    return new BackendProcess(
      child,
      Buffer.from(value ?? [])
        .toString('utf8')
        .trim(),
    );
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  async stats(): Promise<BackendStats> {
    const response = await fetch(`http://127.0.0.1:${this.#port}/stats`, { keepalive: false });
    return (await response.json()) as BackendStats;
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#child.exited;
  }
}

/** Waits for something another process does; fails with its name when it does not happen. */
export async function eventually(
  what: string,
  happened: () => Promise<boolean> | boolean,
  withinMs = 30_000,
): Promise<void> {
  const end = performance.now() + withinMs;
  while (performance.now() < end) {
    if (await happened()) return;
    await Bun.sleep(20);
  }
  throw new Error(`it did not happen within ${withinMs} ms: ${what}`);
}

const started = new Set<Subprocess>();

/** What a test run that fails leaves behind ends with it. */
function remember(child: Subprocess): void {
  if (started.size === 0) process.on('exit', () => started.forEach((one) => one.kill('SIGKILL')));
  started.add(child);
  void child.exited.then(() => started.delete(child));
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed between the listing and the look.
    return '';
  }
}
