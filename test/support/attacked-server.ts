import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogFor, type TestAccount } from './gateway.ts';
import { BackendProcess, NodeProcess, type NodeOptions } from './node-process.ts';
import { Operator } from './operator.ts';

const VICTIM_EVERY_MS = 50;
/** A victim that has no answer by then has none. */
const PATIENCE_MS = 20_000;

/** A gateway and its backend in processes of their own, with what an attack on it is measured by. */
export class AttackedServer {
  readonly node: NodeProcess;
  readonly operator: Operator;
  readonly #backend: BackendProcess;
  readonly #victim: TestAccount;
  readonly #folder: string;
  readonly #sockets: Socket[] = [];

  private constructor(parts: {
    node: NodeProcess;
    operator: Operator;
    backend: BackendProcess;
    victim: TestAccount;
    folder: string;
  }) {
    this.node = parts.node;
    this.operator = parts.operator;
    this.#backend = parts.backend;
    this.#victim = parts.victim;
    this.#folder = parts.folder;
  }

  static async start(
    options: Pick<NodeOptions, 'databaseUrl' | 'env' | 'maxFiles'>,
  ): Promise<AttackedServer> {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-attacked-'));
    const backend = await BackendProcess.start();
    const node = await NodeProcess.start({
      ...options,
      yaml: catalogFor([backend.baseUrl], { prices: 'free: true' }).replace(
        'context: 200000',
        'context: 10000000',
      ),
      bunFlags: ['--preload', join(import.meta.dir, 'turn-meter.ts')],
      env: { ...options.env, TURN_METER_SOCKET: join(folder, 'meter') },
    });
    const operator = await Operator.open(node.env);
    const server = new AttackedServer({
      node,
      operator,
      backend,
      folder,
      victim: await operator.account('1'),
    });
    // What runs for the first time takes longer than it ever will again.
    for (let warmUp = 0; warmUp < 20; warmUp++) await server.victimAnswer();
    return server;
  }

  async stop(): Promise<void> {
    this.leave();
    await this.operator.close();
    await this.node.stop();
    await this.#backend.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** 200 where a small chat of somebody else is answered, on a connection of its own. */
  async victimAnswer(more: object = {}): Promise<string> {
    try {
      const response = await fetch(`${this.node.url}/v1/chat/completions`, {
        method: 'POST',
        keepalive: false,
        headers: { authorization: `Bearer ${this.#victim.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'svc_chat/m',
          messages: [{ role: 'user', content: 'hi' }],
          max_tokens: 5,
          ...more,
        }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const text = await response.text();
      return response.status === 200 ? '200' : `${response.status} ${text.slice(0, 200)}`;
    } catch (thrown) {
      return String(thrown);
    }
  }

  /** What a victim with one small chat every 50 ms got beside the work, and what the work did to the process. */
  async during(work: () => Promise<unknown>): Promise<Measured> {
    const before = this.node.rssMegabytes();
    await this.#askMeter('begin');
    const answers: Promise<string>[] = [];
    let most = before;
    const look = (): void => {
      most = Math.max(most, this.node.rssMegabytes());
      answers.push(this.victimAnswer());
    };
    look();
    const timer = setInterval(look, VICTIM_EVERY_MS);
    try {
      await work();
    } finally {
      clearInterval(timer);
    }
    look();
    const victim = [...new Set(await Promise.all(answers))];
    const turns = JSON.parse(await this.#askMeter('end')) as Pick<Measured, 'longestTurnMs' | 'noticeableMs'>;
    return { victim, ...turns, grownMegabytes: most - before };
  }

  /**
   * The same for work that can be done again. A step that is too long is there each time; what the machine or a collection
   * of garbage adds to one is not, so the least of the longest turns counts.
   */
  async duringEach(times: number, work: () => Promise<unknown>): Promise<Measured> {
    const measured: Measured[] = [];
    for (let time = 0; time < times; time++) measured.push(await this.during(work));
    return {
      victim: [...new Set(measured.flatMap(({ victim }) => victim))],
      longestTurnMs: Math.min(...measured.map((one) => one.longestTurnMs)),
      noticeableMs: Math.max(...measured.map((one) => one.noticeableMs)),
      grownMegabytes: Math.max(...measured.map((one) => one.grownMegabytes)),
    };
  }

  /** The same for a server that is not attacked, for as long as so many chats of the victim take. */
  async alone(chats = 40): Promise<Measured> {
    return await this.during(() => Bun.sleep(chats * VICTIM_EVERY_MS));
  }

  /** A client that sends these bytes and nothing more, until it leaves. */
  send(...parts: readonly (string | Uint8Array)[]): Client {
    const { hostname, port } = new URL(this.node.url);
    const socket = connect(Number(port), hostname);
    this.#sockets.push(socket);
    let received = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => (received += bytes.toString('latin1')));
    for (const part of parts) socket.write(part);
    return {
      socket,
      get answer() {
        return received;
      },
    };
  }

  /** Everybody who has connected by `send`. */
  leave(): void {
    for (const socket of this.#sockets.splice(0)) socket.destroy();
  }

  async #askMeter(what: 'begin' | 'end'): Promise<string> {
    const unix = join(this.#folder, 'meter');
    const answer = await fetch(`http://meter/${what}`, { unix, keepalive: false });
    return await answer.text();
  }
}

export interface Measured {
  /** The different answers that the victim got. */
  readonly victim: readonly string[];
  /** In processor time of the server's thread. */
  readonly longestTurnMs: number;
  /** How much longer than on an unattacked server the longest turn may be, by what this machine is worth at the moment. */
  readonly noticeableMs: number;
  readonly grownMegabytes: number;
}

export interface Client {
  readonly socket: Socket;
  /** What it has received. */
  readonly answer: string;
}

/** What a page of the console sends with its requests. */
export const BROWSER = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };

/** The head of a request, with a body of this length or, without one, in chunks. */
export function headOf(path: string, headers: Readonly<Record<string, string>>, bytes?: number): string {
  const length = bytes === undefined ? 'transfer-encoding: chunked' : `content-length: ${bytes}`;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`POST ${path} HTTP/1.1`, 'host: gate', length, ...lines, '', ''].join('\r\n');
}

/** Somebody with a session and no money: its cookies. The node has no account with a password before. */
export async function firstCustomer(node: NodeProcess): Promise<string> {
  await node.cli('account', 'create', 'keeper@example.com', '--admin', '--json');
  return await customer(node, 'dora@example.com');
}

/** Of a node that has an operator. */
export async function customer(node: NodeProcess, email: string): Promise<string> {
  const signedUp = await fetch(`${node.url}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: BROWSER,
    body: JSON.stringify({ email, password: 'a quiet gate at dawn' }),
  });
  if (signedUp.status !== 200) throw new Error(await signedUp.text());
  const cookies = signedUp.headers.getSetCookie().map((one) => one.split(';')[0]);
  return cookies.join('; ');
}
