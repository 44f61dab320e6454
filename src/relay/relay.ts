import type { Upstream } from '../upstream/port.ts';
import { admissionSummary, askAgain, askLedger, loweredCap } from './admission.ts';
import { noteAdmitted, quoteOrTokenError, type Admitted } from './admission.ts';
import { firstAnswer, type AttemptOptions, type AnsweredAttempt } from './attempts.ts';
import type { Call, RelayParts, AdmissionSummary, Quote } from './call.ts';
import { ActiveHold } from './hold/active-hold.ts';

/**
 * Relays one call of any kind, from token to receipt. Read top to bottom:
 *
 *   token → body → endpoint + model → ceiling → ADMIT → upstream(s) → meter → settle → receipt
 *
 * After the admission there is a hold, and every exit from here closes it exactly once.
 */
export async function relay<C extends Call<unknown>, Q extends Quote, Answer, Reply>(
  operation: Operation<C, Q, Answer, Reply>,
  call: C,
  parts: RelayParts,
): Promise<Reply> {
  const first = await quoteOrTokenError(operation, call, parts);
  const question = { operation, call, quote: first, parts, streamed: operation.isStreamed(call) };
  const answer = await askLedger(question);
  const admission = answer.kind === 'admitted' ? answer : await askAgain(answer, question);
  noteAdmitted(admission, question);
  const { quote, streamed } = question;
  const hold = new ActiveHold(call, parts, streamed, loweredCap(quote, admission.output));
  try {
    hold.start();
    const kept = call.tags && parts.tags?.keep(call, admission);
    if (kept) await kept;
    if (operation.onHeld) await operation.onHeld({ call, quote, hold }, admission);
    const served = await firstAnswer({ call, quote, admission, parts }, hold, operation);
    const summary = admissionSummary(call, quote, admission, { upstream: served.upstream, parts });
    return await operation.deliver({ call, quote, summary, hold, served, parts });
  } catch (thrown) {
    throw await hold.releaseAfter(thrown);
  }
}

/** What differs between chats, images and embeddings. */
export interface Operation<C extends Call<unknown>, Q extends Quote, Answer, Reply> {
  /** The route, its price, and the most that the request can use. Throws the fault that the client gets. */
  quote(call: C, parts: RelayParts): Q;
  isStreamed(call: C): boolean;
  /** Before any backend is called. */
  onHeld?(held: HeldCall<C, Q>, admission: Admitted): Promise<void>;
  /** One attempt at one backend: resolves when the answer has proved to be one, while another could still be tried. */
  callUpstream(admitted: AdmittedCall<C, Q>, upstream: Upstream, attempt: AttemptOptions): Promise<Answer>;
  /** Meters the answer, settles, and returns the reply. A stream settles when it ends. */
  deliver(answered: AnsweredCall<C, Q, Answer>): Reply | Promise<Reply>;
}

export type HeldCall<C, Q> = Pick<AnsweredCall<C, Q, unknown>, 'call' | 'quote' | 'hold'>;

export interface AdmittedCall<C, Q> {
  readonly call: C;
  readonly quote: Q;
  readonly admission: Admitted;
  readonly parts: RelayParts;
}

export interface AnsweredCall<C, Q, Answer> {
  readonly call: C;
  readonly quote: Q;
  readonly summary: AdmissionSummary;
  readonly hold: ActiveHold;
  readonly served: AnsweredAttempt<Answer>;
  readonly parts: RelayParts;
}
