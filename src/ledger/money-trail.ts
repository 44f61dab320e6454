import type { AccountId } from '../std/ids.ts';
import { nanoUsd, type NanoUsd } from '../std/money.ts';

/** Money that went from one wallet to another. */
export interface Moved {
  readonly fromId: AccountId;
  readonly toId: AccountId;
  readonly amount: NanoUsd;
}

/** Wallets that one refund or dispute looks into; the nearest ones. */
export const MOST_FOLLOWED = 1_000;

export interface Collected {
  /** The part that each wallet gives from its own balance. */
  readonly given: ReadonlyMap<AccountId, NanoUsd>;
  /** How it comes to the payer: one move for each two wallets at most. */
  readonly moves: readonly Moved[];
  readonly total: NanoUsd;
}

/**
 * Where money went from a wallet, directly or through others, and how much of it can come back the same way. Between two
 * wallets that is what moved, less what moved the other way since.
 */
export class MoneyTrail {
  readonly #left = new Map<AccountId, Map<AccountId, number>>();

  constructor(moved: readonly Moved[]) {
    const net = new Map<AccountId, Map<AccountId, number>>();
    for (const { fromId, toId, amount } of moved) {
      add(net, fromId, toId, amount);
      add(net, toId, fromId, 0 - amount);
    }
    for (const [fromId, others] of net)
      for (const [toId, amount] of [...others].toSorted(([one], [other]) => (one < other ? -1 : 1)))
        if (amount > 0) add(this.#left, fromId, toId, amount);
  }

  /**
   * Collects an amount at the payer, from the nearest wallets first, and as much of it as there is any way for. Each way is
   * the shortest one that is open; what an earlier way took can be sent another way, so none closes the others for good.
   */
  collect(payer: AccountId, wanted: NanoUsd, own: ReadonlyMap<AccountId, NanoUsd>): Collected {
    const has = new Map<AccountId, number>(own);
    const given = new Map<AccountId, NanoUsd>();
    const sent = new Map<AccountId, Map<AccountId, number>>();
    let missing: number = wanted;
    while (missing > 0) {
      const way = this.#nearest(payer, has);
      if (!way) break;
      const { end, steps } = way;
      const amount = Math.min(missing, has.get(end) ?? 0, ...steps.map(([from, to]) => this.#open(from, to)));
      for (const [from, to] of steps) {
        add(this.#left, from, to, 0 - amount);
        add(this.#left, to, from, amount);
        add(sent, from, to, amount);
        add(sent, to, from, 0 - amount);
      }
      has.set(end, (has.get(end) ?? 0) - amount);
      given.set(end, nanoUsd((given.get(end) ?? 0) + amount));
      missing -= amount;
    }
    return { given, moves: backwards(sent), total: nanoUsd(wanted - missing) };
  }

  /** The nearest wallet that has something, and the steps to it. */
  #nearest(payer: AccountId, has: ReadonlyMap<AccountId, number>): Way | undefined {
    const cameFrom = new Map<AccountId, AccountId | undefined>([[payer, undefined]]);
    for (const id of cameFrom.keys()) {
      if ((has.get(id) ?? 0) > 0) return { end: id, steps: stepsTo(id, cameFrom) };
      for (const [next, amount] of this.#left.get(id) ?? [])
        if (amount > 0 && !cameFrom.has(next)) cameFrom.set(next, id);
    }
    return undefined;
  }

  #open(from: AccountId, to: AccountId): number {
    return this.#left.get(from)?.get(to) ?? 0;
  }
}

type Step = readonly [from: AccountId, to: AccountId];

interface Way {
  readonly end: AccountId;
  readonly steps: readonly Step[];
}

function stepsTo(end: AccountId, cameFrom: ReadonlyMap<AccountId, AccountId | undefined>): Step[] {
  const steps: Step[] = [];
  for (let to = end, from = cameFrom.get(to); from !== undefined; to = from, from = cameFrom.get(to))
    steps.push([from, to]);
  return steps;
}

function add(
  sums: Map<AccountId, Map<AccountId, number>>,
  from: AccountId,
  to: AccountId,
  amount: number,
): void {
  let ofOne = sums.get(from);
  if (!ofOne) sums.set(from, (ofOne = new Map()));
  ofOne.set(to, (ofOne.get(to) ?? 0) + amount);
}

function backwards(sent: ReadonlyMap<AccountId, ReadonlyMap<AccountId, number>>): Moved[] {
  return [...sent].flatMap(([toId, others]) =>
    [...others].flatMap(([fromId, amount]) =>
      amount > 0 ? [{ fromId, toId, amount: nanoUsd(amount) }] : [],
    ),
  );
}

/**
 * How what was collected goes back to the wallets that gave it. A wallet that has ended keeps nothing and only passes on;
 * what would have stayed there stays with the wallet before it.
 */
export function returnedMoves(
  collected: readonly Moved[],
  hasEnded: (id: AccountId) => boolean,
): readonly Moved[] {
  const returned = new Map<Moved, number>();
  const seen = new Set<AccountId>();
  const returnTo = (id: AccountId): void => {
    if (seen.has(id)) return;
    seen.add(id);
    const before = collected.filter(({ toId }) => toId === id);
    for (const { fromId } of before) returnTo(fromId);
    let room = hasEnded(id)
      ? before.reduce((sum, move) => sum + (returned.get(move) ?? move.amount), 0)
      : Number.POSITIVE_INFINITY;
    for (const move of collected.filter(({ fromId }) => fromId === id)) {
      const amount = Math.min(move.amount, room);
      returned.set(move, amount);
      room -= amount;
    }
  };
  for (const { fromId } of collected) returnTo(fromId);
  return [...returned].flatMap(([{ fromId, toId }, amount]) =>
    amount > 0 ? [{ fromId: toId, toId: fromId, amount: nanoUsd(amount) }] : [],
  );
}
