import { freePort, type Launched } from './process.ts';

/** The processes of one gateway, each of which can be killed, frozen and started again on its port. */
export class Nodes {
  readonly ports: readonly number[];
  readonly #start: Start;
  readonly #running: Launched[] = [];

  private constructor(ports: readonly number[], start: Start) {
    this.ports = ports;
    this.#start = start;
  }

  /** One after the other: the first makes the schema, and may have to be set up before the others read it. */
  static async start(count: number, start: Start, setUp?: (port: number) => Promise<void>): Promise<Nodes> {
    const ports: number[] = [];
    for (let index = 0; index < count; index++) ports.push(await freePort());
    const nodes = new Nodes(ports, start);
    for (const [index, port] of ports.entries()) {
      nodes.#running.push(await start(port, index));
      if (index === 0) await setUp?.(port);
    }
    return nodes;
  }

  get urls(): readonly string[] {
    return this.ports.map((port) => `http://127.0.0.1:${port}`);
  }

  /** SIGKILL to all processes of the first node, and a new start. */
  async restartKilled(): Promise<void> {
    const [first] = this.#running;
    first?.signal('SIGKILL');
    await first?.exited;
    this.#running[0] = await this.#start(this.ports[0] ?? 0, 0);
  }

  async freeze(ms: number): Promise<void> {
    this.#running[0]?.signal('SIGSTOP');
    await Bun.sleep(ms);
    this.#running[0]?.signal('SIGCONT');
  }

  async stop(): Promise<void> {
    for (const { signal } of this.#running) signal('SIGKILL');
    await Promise.all(this.#running.map(({ exited }) => exited));
  }
}

type Start = (port: number, index: number) => Promise<Launched>;
