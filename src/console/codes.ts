import type { AccountId } from '../std/ids.ts';
import type { NanoUsd } from '../std/money.ts';

/** Redeem codes as the console needs them: sold or given away in batches, each worth its amount once. */
export interface Codes {
  /** `undefined`: there is no such code, or it was redeemed already, or it is too old. */
  redeem(
    code: string,
    accountId: AccountId,
  ): Promise<{ readonly amount: NanoUsd; readonly balance: NanoUsd } | undefined>;
  /** The codes themselves are returned here and never again. */
  make(batch: CodeBatchOrder): Promise<{ readonly batch: string; readonly codes: readonly string[] }>;
  /** How many codes of the batch were still good; none of them is any more. */
  cancel(batch: string): Promise<number>;
}

export interface CodeBatchOrder {
  readonly amount: NanoUsd;
  readonly count: number;
  readonly batch: string | undefined;
  readonly expiresAt: number | undefined;
  readonly actor: string;
}
