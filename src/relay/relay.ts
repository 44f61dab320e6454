import type { Upstream } from '../upstream/port.ts';
import { admit, callerRateOf, termsOf, preferTokenError } from './admission.ts';
import { firstAnswer, type AttemptOptions, type AnsweredAttempt } from './attempts.ts';
import type { Call, RelayParts, Terms, Order } from './call.ts';
import { ActiveHold } from './hold/active-hold.ts';

/**
 * One call, from token to receipt, whatever it asks for. Read top to bottom:
 *
 *   token → body → endpoint + model → ceiling → ADMIT → upstream(s) → meter → settle → receipt
 * After the admission there is a hold, and every way out of here closes it exactly once.
 */
export async function relay<C extends Call<unknown>, O extends Order, Answer, Reply>(
  operation: Operation<C, O, Answer, Reply>,
  call: C,
  parts: RelayParts,
): Promise<Reply> {
  const order = await preferTokenError(callerRateOf(call), parts, () => operation.readOrder(call, parts));
  const streamed = operation.isStreamed(call);
  const admission = await admit(call, order, parts, streamed);
  const hold = new ActiveHold(call, parts, streamed);
  return await hold.voidOnFailure(async () => {
    const admitted = { call, order, outputCap: admission.output };
    const served = await firstAnswer(order, hold, parts, (upstream, attempt) =>
      operation.ask(admitted, upstream, attempt),
    );
    const terms = termsOf(call, order, admission);
    return await operation.deliver({ call, order, terms, hold, served, parts });
  });
}

/** What differs between chats, images and embeddings. */
export interface Operation<C extends Call<unknown>, O extends Order, Answer, Reply> {
  /** What is asked for, at which price, and how much it can be at most. Throws the fault that the client will see. */
  readOrder(call: C, parts: RelayParts): O;
  isStreamed(call: C): boolean;
  /** One attempt at one backend; resolves when the answer is known to be one, while another could still be asked. */
  ask(admitted: AdmittedCall<C, O>, upstream: Upstream, attempt: AttemptOptions): Promise<Answer>;
  /** Measures the answer, settles, and gives the client what it asked for. A stream settles when it ends. */
  deliver(answered: Answered<C, O, Answer>): Reply | Promise<Reply>;
}

export interface AdmittedCall<C, O> {
  readonly call: C;
  readonly order: O;
  /** For each choice: the output tokens that the hold covers. */
  readonly outputCap: number;
}

export interface Answered<C, O, Answer> {
  readonly call: C;
  readonly order: O;
  readonly terms: Terms;
  readonly hold: ActiveHold;
  readonly served: AnsweredAttempt<Answer>;
  readonly parts: RelayParts;
}
