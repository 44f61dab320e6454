import type { AccountId } from '../std/ids.ts';
import { addNano, nanoUsd, subtractNano, ZERO, type NanoUsd } from '../std/money.ts';
import { OVERRUN_ACCOUNT, OVERRUN_CEILING } from './decide.ts';
import { balanceAfter, moveEntries, type KeyedEntry } from './entries.ts';
import { MoneyTrail, returnedMoves, type Moved } from './money-trail.ts';
import type { GivenBack, Reclaim, Reclaimed, WalletMove } from './port.ts';
import { collectedMoveId, debtKey, laterKey, lossKey, returnedKey, tooManyLosses } from './reclaim.ts';

/** What the books say, read under the locks of all wallets concerned, before money goes back to its payer. */
export interface ReclaimState {
  /** The operator's losses so far. */
  readonly losses: NanoUsd;
  /** The payer's, and all to which its money went. */
  readonly wallets: ReadonlyMap<AccountId, WalletMoney>;
  readonly moved: readonly Moved[];
  /** The amounts of the entries with the keys of {@link reclaimKeys}. */
  readonly amounts: ReadonlyMap<string, number>;
  readonly debts: readonly Debt[];
  /** What came back from other wallets for the same key. */
  readonly collected: readonly Moved[];
}

interface WalletMoney {
  readonly balance: NanoUsd;
  readonly held: NanoUsd;
  readonly owed: NanoUsd;
  readonly isRemoved: boolean;
}

/** What one wallet owes of a refund or dispute. */
export interface Debt {
  readonly once: string;
  readonly accountId: AccountId;
  readonly owed: NanoUsd;
  /** What was owed when the money came back. */
  readonly returned: NanoUsd;
}

/** What is to be written, all of it in one transaction. */
export interface ReclaimWrites {
  readonly entries: readonly KeyedEntry[];
  readonly moves: readonly WalletMove[];
  readonly newDebts: readonly Debt[];
  /** Debts that end, in their final state. */
  readonly endedDebts: readonly Debt[];
  /** By how much each wallet changes. */
  readonly changes: ReadonlyMap<AccountId, { balance: number; owed: number }>;
}

interface Planned<Result> {
  readonly result: Result;
  /** Absent where nothing changes. */
  readonly writes?: ReclaimWrites;
}

/** Every key under which entries of a reclaim stand. */
export function reclaimKeys(once: string): readonly string[] {
  return [once, laterKey(once), lossKey(once), returnedKey(once), returnedKey(lossKey(once))];
}

/**
 * How an amount that goes back to its payer is taken. The payer gives what is free; what is missing comes from the wallets
 * to which its money went, up to what moved. What running requests hold stays with them, and is owed until they end, by
 * whoever holds it; what nobody can give once nothing is on hold is the operator's loss. What is owed is taken all at once, so
 * that each refund or dispute has a bounded number of entries; until then it cannot be spent.
 */
export function planReclaim(state: ReclaimState, reclaim: Reclaim): Planned<Reclaimed> {
  const { accountId: payer, once } = reclaim;
  const before = reclaimedSoFar(state, once);
  if (before?.owed === 0) return { result: before };
  const missing = before?.owed ?? reclaim.amount;
  const free = new Map(
    [...state.wallets].map(([id, wallet]) => [id, freeBut(wallet, owedBy(state, id))] as const),
  );
  const { total: taken, moves } = new MoneyTrail(state.moved).collect(payer, missing, free);
  const rest = subtractNano(missing, taken);
  if (addNano(state.losses, rest) > OVERRUN_CEILING) throw tooManyLosses();
  const waitingFor = rest === 0 ? [] : debtsFor(state, reclaim, { rest, moves });
  if (before && waitingFor.length > 0) return { result: before };
  const owed = sumOf(waitingFor.map((debt) => debt.owed));
  const lost = subtractNano(rest, owed);
  const key = before ? laterKey(once) : once;
  const writer = new Writer(reclaim);
  for (const move of moves) writer.move(collectedMoveId(key, move), move);
  writer.entry(payer, 0 - taken, key);
  writer.entry(OVERRUN_ACCOUNT as AccountId, lost, lossKey(once));
  for (const debt of state.debts) writer.endDebt(debt, ZERO);
  for (const debt of waitingFor) writer.newDebt(debt);
  const result = {
    taken: addNano(before?.taken ?? ZERO, taken),
    lost: addNano(before?.lost ?? ZERO, lost),
    owed,
  };
  return { result, writes: writer.writes };
}

/** Undoes what was reclaimed: each wallet gets back what it gave. Throws where one of them cannot take it. */
export function planGiveBack(
  state: ReclaimState,
  reclaim: Omit<Reclaim, 'amount'>,
): Planned<GivenBack | undefined> {
  const { accountId: payer, once } = reclaim;
  const before = reclaimedSoFar(state, once);
  if (!before) return { result: undefined };
  const { taken, lost } = before;
  const result = { taken, lost };
  if (isReturned(state, once)) return { result };
  const writer = new Writer(reclaim);
  writer.entry(payer, taken, returnedKey(once));
  writer.entry(OVERRUN_ACCOUNT as AccountId, 0 - lost, returnedKey(lossKey(once)));
  const hasEnded = (id: AccountId): boolean => state.wallets.get(id)?.isRemoved ?? true;
  for (const move of returnedMoves(state.collected, hasEnded))
    writer.move(returnedKey(collectedMoveId(once, move)), move);
  for (const debt of state.debts) writer.endDebt(debt, debt.owed);
  for (const [id, change] of writer.writes.changes) {
    const wallet = state.wallets.get(id);
    if (wallet && change.balance > 0) balanceAfter(wallet, { kind: 'adjustment', amount: change.balance });
  }
  return { result, writes: writer.writes };
}

/**
 * Who owes what is missing: the wallets to which the money went, as far as their running requests may still release it,
 * and the payer the rest. Where nothing is on hold nobody owes anything: waiting would bring nothing.
 */
function debtsFor(
  { wallets, moved }: ReclaimState,
  { accountId: payer, once }: Reclaim,
  { rest, moves }: { readonly rest: NanoUsd; readonly moves: readonly Moved[] },
): Debt[] {
  const held = new Map([...wallets].flatMap(([id, wallet]) => (id === payer ? [] : [[id, wallet.held]])));
  const { given, total } = new MoneyTrail([...moved, ...moves]).collect(payer, rest, held);
  if (total === 0 && (wallets.get(payer)?.held ?? 0) === 0) return [];
  const debts = new Map(given).set(payer, subtractNano(rest, total));
  return [...debts].flatMap(([accountId, owed]) =>
    owed === 0 ? [] : [{ once: debtKey(once, payer, accountId), accountId, owed, returned: ZERO }],
  );
}

/** What was done so far with this key. */
function reclaimedSoFar({ amounts, debts }: ReclaimState, once: string): Reclaimed | undefined {
  const taken = nanoUsd(0 - (amounts.get(once) ?? 0) - (amounts.get(laterKey(once)) ?? 0));
  const lost = nanoUsd(amounts.get(lossKey(once)) ?? 0);
  if (debts.length === 0 && taken === 0 && lost === 0) return undefined;
  return { taken, lost, owed: sumOf(debts.map((debt) => debt.owed)) };
}

function isReturned({ amounts, debts }: ReclaimState, once: string): boolean {
  return (
    amounts.has(returnedKey(once)) ||
    amounts.has(returnedKey(lossKey(once))) ||
    debts.some(({ returned }) => returned > 0)
  );
}

/** The free balance of a wallet, as if it did not owe this. */
function freeBut({ balance, held, owed }: WalletMoney, debt: NanoUsd): NanoUsd {
  return nanoUsd(Math.max(0, balance - held - owed + debt));
}

function owedBy({ debts }: ReclaimState, id: AccountId): NanoUsd {
  return debts.find(({ accountId }) => accountId === id)?.owed ?? ZERO;
}

function sumOf(amounts: readonly NanoUsd[]): NanoUsd {
  return amounts.reduce(addNano, ZERO);
}

/** Gathers what is to be written. */
class Writer {
  readonly #named: Pick<Reclaim, 'cause' | 'actor'>;
  readonly #entries: KeyedEntry[] = [];
  readonly #moves: WalletMove[] = [];
  readonly #newDebts: Debt[] = [];
  readonly #endedDebts: Debt[] = [];
  readonly #changes = new Map<AccountId, { balance: number; owed: number }>();

  constructor({ cause, actor }: Pick<Reclaim, 'cause' | 'actor'>) {
    this.#named = { cause, actor };
  }

  get writes(): ReclaimWrites {
    return {
      entries: this.#entries,
      moves: this.#moves,
      newDebts: this.#newDebts,
      endedDebts: this.#endedDebts,
      changes: this.#changes,
    };
  }

  entry(accountId: AccountId, amount: number, once: string): void {
    if (amount !== 0) this.#book({ accountId, kind: 'adjustment', amount, once, ...this.#named });
  }

  move(id: string, moved: Moved): void {
    const { cause, actor } = this.#named;
    const { fromId, toId } = moved;
    const outCause = `${cause}: to ${toId}`;
    const move = { id, ...moved, outCause, inCause: `${cause}: from ${fromId}`, actor };
    this.#moves.push(move);
    for (const entry of moveEntries(move)) this.#book(entry);
  }

  newDebt(debt: Debt): void {
    this.#newDebts.push(debt);
    this.#changeOf(debt.accountId).owed += debt.owed;
  }

  endDebt({ owed, ...debt }: Debt, returned: NanoUsd): void {
    if (owed === 0) return;
    this.#endedDebts.push({ ...debt, owed: ZERO, returned });
    this.#changeOf(debt.accountId).owed -= owed;
  }

  #book(entry: KeyedEntry): void {
    this.#entries.push(entry);
    this.#changeOf(entry.accountId).balance += entry.amount;
  }

  #changeOf(id: AccountId): { balance: number; owed: number } {
    let change = this.#changes.get(id);
    if (!change) this.#changes.set(id, (change = { balance: 0, owed: 0 }));
    return change;
  }
}
