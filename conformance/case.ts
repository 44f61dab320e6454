import type { InvoiceBackend } from './backend/backend.ts';
import type { Account, AccountWish, Gateway, Money } from './gateway.ts';

/** A question about money with a stated bound. */
export interface Case {
  readonly id: string;
  readonly title: string;
  /** What must hold, in words and with its number. */
  readonly bound: string;
  /** What a gateway must have for the question to make sense. */
  readonly needs: readonly Need[];
  /** Alone: it loads or stops the gateway, so that no other case may run beside it. */
  readonly isAlone: boolean;
  run(stage: Stage): Promise<Measured>;
}

type Need = 'money' | 'limits' | 'images' | 'two nodes' | 'kill' | 'freeze' | 'taking back';

export interface Stage {
  readonly gateway: Gateway;
  readonly backend: Pick<InvoiceBackend, 'scene'>;
  account(wish: AccountWish): Promise<Account>;
  /** Resolves when the books of the gateway are complete. */
  settled(): Promise<void>;
}

export interface Measured {
  readonly holds: boolean;
  /** The figure beside the bound, for the table. */
  readonly figure: string;
}

export type Verdict = 'holds' | 'fails' | 'not offered' | 'not played';

export interface Finding extends Pick<Measured, 'figure'> {
  readonly case: Case;
  readonly verdict: Verdict;
}

export async function judge(one: Case, gateway: Gateway, backend: InvoiceBackend): Promise<Finding> {
  const missing = one.needs.find((need) => !offers(gateway, need));
  if (missing !== undefined) return { case: one, verdict: 'not offered', figure: `no ${missing}` };
  const scenes: ReturnType<InvoiceBackend['scene']>[] = [];
  const stage: Stage = {
    gateway,
    backend: {
      scene(wish) {
        const scene = backend.scene(wish);
        scenes.push(scene);
        return scene;
      },
    },
    account: (wish: AccountWish) => moneyOf(gateway).account(wish),
    settled: () => pause(gateway.settleMs),
  };
  const { holds, figure } = await one.run(stage);
  // Whatever the books say then, it is not about what the case asks.
  if (scenes.every((scene) => scene.calls().length === 0))
    return { case: one, verdict: 'not played', figure: 'no request reached the backend' };
  return { case: one, verdict: holds ? 'holds' : 'fails', figure };
}

function offers(gateway: Gateway, need: Need): boolean {
  switch (need) {
    case 'money':
      return gateway.money !== undefined;
    case 'limits':
      return gateway.limitsBy !== 'nothing';
    case 'taking back':
      return gateway.money?.takesBack === true;
    case 'images':
      return gateway.imageModel !== undefined;
    case 'two nodes':
      return gateway.nodes.length > 1;
    case 'kill':
      return gateway.restartKilled !== undefined;
    case 'freeze':
      return gateway.freeze !== undefined;
  }
}

function moneyOf({ money }: Gateway): Money {
  if (money === undefined) throw new Error('this gateway keeps no money');
  return money;
}

export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until something is so, looking often; false when the time is over. */
export async function until(isSo: () => boolean, mostMs: number): Promise<boolean> {
  const deadline = Date.now() + mostMs;
  while (!isSo()) {
    if (Date.now() > deadline) return false;
    await pause(20);
  }
  return true;
}

export function usd(amount: number): string {
  return `$${amount.toFixed(Math.abs(amount) < 0.001 && amount !== 0 ? 6 : 4)}`;
}

/** How a charge stands to the invoice. */
export function share(charged: number, billed: number): string {
  return billed === 0 ? usd(charged) : `${(charged / billed).toFixed(2)} of the invoice`;
}

export function isWithin(charged: number, billed: number, [least, most]: readonly [number, number]): boolean {
  const penny = 0.000_005; // the smallest unit of some gateways is two millionths of a dollar
  return charged >= billed * least - penny && charged <= billed * most + penny;
}
