import { placesFor } from '../catalog/catalog.ts';
import type { Attempt } from '../ledger/port.ts';
import type { AccountId } from '../std/ids.ts';
import { nanoUsd } from '../std/money.ts';
import { admissionSummary, quoteOf, type Admitted } from './admission.ts';
import { asPossiblyBilled } from './attempt-costs.ts';
import { AllAttemptsFailed, firstAnswer } from './attempts.ts';
import type { AdmissionSummary, ChatCall, ChatReply, Quote, RelayParts } from './call.ts';
import { CHAT } from './chat.ts';
import { ActiveHold } from './hold/active-hold.ts';
import { relay } from './relay.ts';

export interface StartedChatJob {
  readonly summary: AdmissionSummary;
  readonly hold: ActiveHold;
  readonly reply: Promise<ChatReply>;
}

/** Resolves when the call has its hold; a refusal is thrown, as for a call whose client waits. */
export async function startChatJob(call: ChatCall, parts: RelayParts): Promise<StartedChatJob> {
  const held = Promise.withResolvers<Omit<StartedChatJob, 'reply'>>();
  const operation: typeof CHAT = {
    ...CHAT,
    onHeld({ quote, hold }, admission) {
      held.resolve({ summary: admissionSummary(call, quote, admission), hold });
      return Promise.resolve();
    },
  };
  const reply = relay(operation, call, parts);
  // Once the call has its hold, a failure ends only the job.
  reply.catch(held.reject);
  return { ...(await held.promise), reply };
}

interface ForsakenChat {
  readonly call: ChatCall;
  readonly account: AccountId;
  /** The output tokens that its hold covers. */
  readonly outputCap: number;
}

/**
 * Makes an answer again whose process is gone, on its hold, which was adopted: what the first one has used is not charged,
 * since nobody has it, but its backend may send a bill for it.
 */
export function resumeChatJob(
  { call, account, outputCap }: ForsakenChat,
  parts: RelayParts,
): Omit<StartedChatJob, 'summary'> {
  const hold = new ActiveHold(call, parts, true);
  const reply = hold.voidOnFailure(async () => {
    hold.start();
    const quote = await quoteOf(CHAT, call, parts);
    const admission = adoptedBy(account, outputCap);
    await parts.tags?.keepAdopted(call, account);
    const lost = await lostAttempt(quote, outputCap);
    const answered = await firstAnswer({ call, quote, admission, parts }, hold, CHAT).catch(
      (thrown: unknown) => {
        if (!(thrown instanceof AllAttemptsFailed)) throw thrown;
        throw new AllAttemptsFailed(thrown.fault, [lost, ...thrown.attempts]);
      },
    );
    const served = { ...answered, attempts: [lost, ...answered.attempts] };
    const summary = admissionSummary(call, quote, admission);
    return await CHAT.deliver({ call, quote, summary, hold, served, parts });
  });
  return { hold, reply };
}

/**
 * The attempt whose ending nobody saw. It is not known which backend had it, so it is booked for the one that takes most.
 */
async function lostAttempt(quote: Quote, outputCap: number): Promise<Attempt> {
  const names = placesFor(quote.route).flatMap((place) => place.map(({ upstream }) => upstream));
  const attempts = await Promise.all(
    names.map((upstream) =>
      asPossiblyBilled(
        { upstream, result: 'failed', reason: 'connection_lost', durationMs: 0 },
        quote,
        outputCap,
      ),
    ),
  );
  const costOf = ({ cost }: Attempt): number => cost?.amount ?? 0;
  return attempts.reduce((dearest, one) => (costOf(one) > costOf(dearest) ? one : dearest));
}

/** Without the account's state: another process admitted the request. */
function adoptedBy(accountId: AccountId, output: number): Admitted {
  const nothing = nanoUsd(0);
  const rate = { limit: 0, remaining: 0, resetMs: 0 };
  return { kind: 'admitted', accountId, output, held: nothing, available: nothing, rate };
}
