import { admissionSummary } from './admission.ts';
import { withPossibleCost } from './attempt-costs.ts';
import {
  AllAttemptsFailed,
  attemptFault,
  modelAt,
  tryOne,
  type AnsweredAttempt,
  type AttemptDeadline,
} from './attempts.ts';
import type { AdmissionSummary, ImageCall, RelayParts } from './call.ts';
import { ActiveHold } from './hold/active-hold.ts';
import {
  IMAGES,
  keepImages,
  onImagesHeld,
  quoteImages,
  recordedImages,
  settleImages,
  withRecord,
  type ImageOperation,
  type ImageQuote,
  type ImageRecord,
} from './images.ts';
import { relay } from './relay.ts';
import type { Attempt, Settled } from '../ledger/port.ts';
import { isEmpty, type Usage } from '../ledger/price.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import type { ImageAnswer, UpstreamFailure } from '../upstream/port.ts';

export interface StartedImageJob {
  readonly summary: AdmissionSummary;
  /** How it was charged; rejects with the fault that it failed with. Nothing is charged then. */
  readonly ended: Promise<Settled | undefined>;
}

/** Resolves when the call has its hold and its row; a refusal is thrown, as for a call whose client waits. */
export async function startImageJob(
  call: ImageCall,
  record: ImageRecord,
  parts: RelayParts,
): Promise<StartedImageJob> {
  const held = Promise.withResolvers<AdmissionSummary>();
  const operation: ImageOperation = {
    ...recordedImages(record, parts),
    async onHeld(begun, admission) {
      await onImagesHeld(begun, admission, record);
      held.resolve(admissionSummary(call, begun.quote, admission, undefined));
    },
  };
  const ended = relay(operation, call, parts).then(({ settled }) => settled);
  // Once it has its hold, a failure concerns the job alone.
  ended.catch(held.reject);
  return { summary: await held.promise, ended };
}

/** A job that another process began, and what its backend calls it. */
interface ForsakenImageJob {
  readonly call: ImageCall;
  readonly account: AccountId;
  readonly upstream: string;
  readonly backendJob: string;
  readonly deadline: number;
}

/** Continues a job whose hold was adopted. */
export function resumeImageJob(
  job: ForsakenImageJob,
  record: ImageRecord,
  parts: RelayParts,
): { readonly hold: ActiveHold; readonly ended: StartedImageJob['ended'] } {
  const { call } = job;
  const hold = new ActiveHold(call, parts);
  const ended = hold.voidOnFailure(async () => {
    const quote = IMAGES.quote(call, parts);
    const served = await resumedAnswer(job, quote, { hold, record, parts });
    await keepImages({ served, quote }, record);
    return (await settleImages({ call, quote, hold, served, parts })).settled;
  });
  return { hold, ended };
}

interface ResumeParts {
  readonly hold: ActiveHold;
  readonly record: ImageRecord;
  readonly parts: RelayParts;
}

/** Asks the backend for its job again and again while it cannot be reached, since nothing new is bought by that. */
async function resumedAnswer(
  job: ForsakenImageJob,
  quote: ImageQuote,
  { hold, record, parts }: ResumeParts,
): Promise<AnsweredAttempt<ImageAnswer>> {
  const { call, account, upstream, backendJob } = job;
  const { route } = quote;
  const { form } = route.model;
  const target = { upstream, model: modelAt(route.model, upstream), account };
  const deadline = untilDeadline(hold, job.deadline, parts);
  const startedAt = parts.clock.now();
  for (;;) {
    const permit = parts.upstreams.has(upstream) ? parts.upstreams.admit(target) : undefined;
    if (!permit) throw await possiblyBilled(attemptFault(undefined, Infinity), { call, upstream, parts });
    if (permit.kind === 'permit') {
      const result = await tryOne({
        permit,
        model: target.model,
        form,
        isSilent: true,
        deadline,
        parts,
        requestRecord: undefined,
        attempt: (backend, attempt) =>
          IMAGES.callUpstream({ call, quote, outputCap: 0, parts }, backend, {
            ...withRecord(attempt, backend, { record, parts }),
            job: backendJob,
          }),
      });
      if (result.kind === 'served') {
        const firstByteMs = parts.clock.now() - startedAt;
        return { answer: result.answer, upstream, attempts: [result.record], quote, firstByteMs };
      }
      const { failure } = result;
      if (hold.isAbandoned || hold.timedOut || !mayAskAgain(failure)) {
        // The backend has the job: that it cannot be asked any more does not mean that it is not billed.
        const kind = mayAskAgain(failure) ? 'connection_lost' : failure.kind;
        const attempt = await withPossibleCost(result.record, kind, quote, undefined);
        throw new AllAttemptsFailed(attemptFault(failure, Infinity), [attempt]);
      }
    }
    if (parts.clock.now() > job.deadline || hold.isAbandoned)
      throw await possiblyBilled(pastDeadline(), { call, upstream, parts });
    await Bun.sleep(Math.min(RESUME_PAUSE_MS, permit.kind === 'wait' ? permit.waitMs : RESUME_PAUSE_MS));
  }
}

const RESUME_PAUSE_MS = 1_000;

/** What a backend says about the job is final. That it could not be asked is not. */
export function mayAskAgain({ kind, status }: UpstreamFailure): boolean {
  const isUnreachable = kind === 'connect' || kind === 'connection_lost' || kind === 'overloaded';
  return isUnreachable || kind === 'rate_limited' || (status !== undefined && status >= 500);
}

/** Time that the job spent in an earlier process counts too. */
function untilDeadline(hold: ActiveHold, deadline: number, { clock }: RelayParts): AttemptDeadline {
  return {
    begin: (timeouts) => hold.begin({ ...timeouts, totalMs: deadline - clock.now() }),
    end: () => hold.end(),
    get timedOut() {
      return hold.timedOut;
    },
    get isAbandoned() {
      return hold.isAbandoned;
    },
  };
}

function pastDeadline(): Fault {
  return new Fault('upstream_timeout', 'The backend did not answer in time. Retry later.');
}

/** A request whose process died while a backend worked on it. */
interface InterruptedImages {
  readonly call: ImageCall;
  readonly upstream: string;
  /** What its client had got by then. */
  readonly delivered: Usage;
}

/**
 * Closes an adopted hold whose request cannot be continued: what was delivered is charged, and what it may have cost is
 * booked.
 */
export async function endInterrupted(
  { call, upstream, delivered }: InterruptedImages,
  fault: Fault,
  parts: RelayParts,
): Promise<void> {
  const hold = new ActiveHold(call, parts);
  const failed = await possiblyBilled(fault, { call, upstream, parts });
  if (isEmpty(delivered)) {
    await hold.voidOnFailure(() => Promise.reject(failed)).catch(() => undefined);
    return;
  }
  const measured = { usage: delivered, source: 'counted' } as const;
  const { attempts } = failed;
  await hold.settle({ upstream, attempts, measured, outcome: 'expired', fault, firstByteMs: 0 });
}

/** Without a cost where the catalog does not know the model any more. */
async function possiblyBilled(
  fault: Fault,
  { call, upstream, parts }: { call: ImageCall; upstream: string; parts: RelayParts },
): Promise<AllAttemptsFailed> {
  const record: Attempt = { upstream, result: 'failed', reason: 'connection_lost', durationMs: 0 };
  try {
    const quote = quoteImages(call, parts);
    return new AllAttemptsFailed(fault, [
      await withPossibleCost(record, 'connection_lost', quote, undefined),
    ]);
  } catch {
    return new AllAttemptsFailed(fault, [record]);
  }
}
