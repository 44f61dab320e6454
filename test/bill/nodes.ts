import { NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import type { TestAccount } from '../support/gateway.ts';
import { BillingBackend } from './backend.ts';
import { performPlan, type ClientEnd } from './client.ts';
import { Cues } from './cues.ts';
import { catalogText } from './models.ts';
import type { Plan } from './plan.ts';
import { billed, receiptsIn, untilIdle, withinTime, type BilledRequest } from './run-plans.ts';

/** Short, so that a node that is gone or frozen is found soon, and long enough for one that is only busy. */
const LEASE_SECONDS = 6;
/** Longer than a lease and the pause between two looks for holds whose lease is over. */
const OUT_OF_TOUCH_MS = 12_000;

/** How a node comes to its end, or nearly. */
export const NODE_ENDS = ['kill -9', 'SIGTERM', 'frozen'] as const;
export type NodeEnd = (typeof NODE_ENDS)[number];

export interface NodesBooks {
  readonly requests: readonly BilledRequest[];
  readonly breaches: readonly unknown[];
  readonly refusals: readonly string[];
}

/** Nodes on one store as processes of their own, which can end while the backend, here, keeps its invoice. */
export class BilledNodes {
  readonly #plans: readonly Plan[];
  readonly #plays: ReadonlyMap<number, { readonly plan: Plan; readonly cues: Cues }>;
  readonly #backend: BillingBackend;
  readonly #ends = new Map<number, ClientEnd>();
  readonly #nodes: NodeProcess[] = [];
  #operator: Operator | undefined;
  #account: TestAccount | undefined;

  private constructor(plans: readonly Plan[]) {
    this.#plans = plans;
    this.#plays = new Map(plans.map((plan) => [plan.id, { plan, cues: new Cues(plan) }]));
    this.#backend = new BillingBackend('usual', this.#plays);
  }

  /** Two nodes on Postgres, one on SQLite. */
  static async start(plans: readonly Plan[], databaseUrl?: string): Promise<BilledNodes> {
    const nodes = new BilledNodes(plans);
    const url = await nodes.#backend.start();
    const options = {
      yaml: catalogText({ first: url, usual: url }),
      env: {
        BILL_BACKEND_KEY: 'sk-of-the-operator',
        TOLLGATE_LEASE_SECONDS: String(LEASE_SECONDS),
        TOLLGATE_GRACE_SECONDS: '1',
        TOLLGATE_COUNT_WAIT_MS: '30000',
      },
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
    };
    nodes.#nodes.push(await NodeProcess.start(options));
    if (databaseUrl !== undefined) nodes.#nodes.push(await NodeProcess.start(options));
    nodes.#operator = await Operator.open(nodes.#node(0).env);
    nodes.#account = await nodes.#operator.account('100000');
    return nodes;
  }

  /**
   * Runs the plans on their nodes. When those that end by themselves have ended, and those of the node that is to end have come
   * to their stage, it ends; `pause` is between the two.
   */
  async round(
    plans: readonly Plan[],
    victim: number,
    end: NodeEnd,
    pause: () => Promise<void>,
  ): Promise<void> {
    const others = plans.filter((plan) => !isEndedByNode(plan));
    const ownPlans = plans.filter(isEndedByNode);
    const running = others.map((plan) => this.#perform(plan, this.#node(plan.id)));
    const own = ownPlans.map((plan) => this.#perform(plan, this.#node(victim)));
    const reached = ownPlans.map((plan, index) => Promise.race([this.#cues(plan).reached, own[index]]));
    await Promise.all([...running, ...reached]);
    if (ownPlans.length === 0) return;
    await pause();
    await this.#endNode(this.#node(victim), end, ownPlans);
    await Promise.all(own);
  }

  async #endNode(node: NodeProcess, end: NodeEnd, plans: readonly Plan[]): Promise<void> {
    if (end === 'frozen') {
      node.signal('SIGSTOP');
      await Bun.sleep(OUT_OF_TOUCH_MS);
      node.signal('SIGCONT');
      for (const plan of plans) this.#cues(plan).goOn();
      return;
    }
    node.signal(end === 'SIGTERM' ? 'SIGTERM' : 'SIGKILL');
    await node.exited();
    await node.restart();
  }

  async #perform(plan: Plan, node: NodeProcess): Promise<void> {
    const token = this.#account?.token ?? '';
    this.#ends.set(plan.id, await withinTime(plan, performPlan(plan, node.url, token, this.#cues(plan))));
  }

  /** What both sides have in their books when nothing is held any more. */
  async books(): Promise<NodesBooks> {
    const { operator, account } = { operator: this.#operator, account: this.#account };
    if (!operator || !account) throw new Error('the nodes were never started');
    await untilIdle(this.#backend);
    await operator.settled(60_000);
    const receipts = receiptsIn(await operator.requests(account));
    const { breaches } = await operator.services.ledger.ledger.verify({ full: true });
    const lines = Map.groupBy(this.#backend.invoice, ({ plan }) => plan);
    return {
      requests: this.#plans.map((plan) =>
        billed(plan, this.#ends.get(plan.id), lines.get(plan.id) ?? [], receipts),
      ),
      breaches,
      refusals: this.#backend.refusals,
    };
  }

  async stop(): Promise<void> {
    await this.#operator?.close();
    for (const node of this.#nodes) await node.stop();
    this.#backend.stop();
  }

  #node(index: number): NodeProcess {
    const node = this.#nodes[index % this.#nodes.length];
    if (!node) throw new Error('no node');
    return node;
  }

  #cues(plan: Plan): Cues {
    const play = this.#plays.get(plan.id);
    if (!play) throw new Error(`no plan ${plan.id}`);
    return play.cues;
  }
}

/** Its client waits for an answer whose backend has fallen silent, and no deadline is near. */
function isEndedByNode({ clientStays, model }: Plan): boolean {
  return clientStays === true && !model.endsWith('-late');
}
