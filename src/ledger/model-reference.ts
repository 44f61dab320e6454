import { addNano, MAX_BALANCE, minNano, nanoUsd, subtractNano, ZERO, type NanoUsd } from '../std/money.ts';
import type { TestAccount } from './contract-harness.ts';
import { decide, type Decision } from './decide.ts';
import type { AdmissionRequest, HoldState } from './port.ts';
import { costOf, NO_USAGE, type Price, type Usage } from './price.ts';

/** The books as anyone would keep them on paper: no database, no batches, one thing after another. */
export class Reference {
  readonly accounts: ReferenceAccount[] = [];
  readonly holds = new Map<string, ReferenceHold>();
  overrun: NanoUsd = ZERO;

  account(index: number): ReferenceAccount {
    const account = this.accounts[index % this.accounts.length];
    if (!account) throw new Error('the model has no accounts');
    return account;
  }

  /** The n-th request ever admitted, open or closed. */
  pick(index: number): ReferenceHold | undefined {
    const all = [...this.holds.values()];
    return all[index % all.length];
  }

  pending(): ReferenceHold[] {
    return [...this.holds.values()].filter((hold) => hold.state === 'pending');
  }

  admit(account: ReferenceAccount, request: AdmissionRequest): Decision {
    const decision = decide(
      {
        ...account,
        active: true,
        arrivalUs: 0,
        perMinute: request.limits.chatPerMinute,
        concurrent: request.limits.concurrent,
      },
      request,
      0,
    );
    if (decision.kind === 'admit') this.open(account, request, decision.hold);
    return decision;
  }

  open(account: ReferenceAccount, { requestId, price }: AdmissionRequest, held: NanoUsd): void {
    account.held = addNano(account.held, held);
    account.openHolds++;
    this.holds.set(requestId, {
      id: requestId,
      account,
      price,
      held,
      state: 'pending',
      charged: ZERO,
      delivered: NO_USAGE,
    });
  }

  /** Closes a hold the first time and leaves it alone ever after. */
  close(hold: ReferenceHold, state: 'posted' | 'void' | 'expired', usage: Usage): void {
    if (hold.state !== 'pending') return;
    const { account } = hold;
    const cost = state === 'void' ? ZERO : costOf(hold.price, usage);
    hold.charged = minNano(cost, hold.held);
    hold.state = state;
    account.balance = subtractNano(account.balance, hold.charged);
    account.held = subtractNano(account.held, hold.held);
    account.openHolds--;
    account.monthSpent = addNano(account.monthSpent, hold.charged);
    this.overrun = addNano(this.overrun, subtractNano(cost, hold.charged));
  }

  expire(hold: ReferenceHold): void {
    const { input, output, images } = hold.delivered;
    this.close(hold, input + output + images === 0 ? 'void' : 'expired', hold.delivered);
  }

  /** False when the books would leave their bounds. */
  post(account: ReferenceAccount, amount: number): boolean {
    const balance = account.balance + amount;
    if (amount === 0 || balance < account.held || balance > MAX_BALANCE) return false;
    account.balance = nanoUsd(balance);
    return true;
  }
}

export interface ReferenceAccount {
  readonly id: TestAccount['id'];
  hash: TestAccount['hash'];
  replaced: TestAccount['hash'] | undefined;
  balance: NanoUsd;
  held: NanoUsd;
  openHolds: number;
  monthSpent: NanoUsd;
  monthlyLimit: NanoUsd | undefined;
}

export interface ReferenceHold {
  readonly id: AdmissionRequest['requestId'];
  readonly account: ReferenceAccount;
  readonly price: Price;
  readonly held: NanoUsd;
  state: HoldState;
  charged: NanoUsd;
  delivered: Usage;
}
