import { admissionSummary } from './admission.ts';
import { attemptFault, modelAt, tryOne, type AttemptDeadline, type AttemptOptions } from './attempts.ts';
import type { AdmissionSummary, ImageCall, RelayParts } from './call.ts';
import { ActiveHold } from './hold/active-hold.ts';
import { endImages, NOTHING_DELIVERED, type EndedImages } from './image-ending.ts';
import type { ImageTerms } from './image-terms.ts';
import {
  deliverImages,
  onImagesHeld,
  recordedImages,
  type ImageOperation,
  type ImageRecord,
} from './images.ts';
import { relay } from './relay.ts';
import type { Attempt, Settled } from '../ledger/port.ts';
import { isEmpty, type Usage } from '../ledger/price.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import {
  mayBeBilled,
  UpstreamFailure,
  type ImageAnswer,
  type ImagePart,
  type Upstream,
} from '../upstream/port.ts';

export interface StartedImageJob {
  readonly summary: AdmissionSummary;
  /** Resolves with how it was charged; rejects with the fault if it failed, and then nothing is charged. */
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
    ...recordedImages(record),
    async onHeld(begun, admission) {
      await onImagesHeld(begun, admission, record);
      held.resolve(admissionSummary(call, begun.quote, admission));
    },
  };
  const ended = relay(operation, call, parts).then(({ settled }) => settled);
  // Once the call has its hold, a failure ends only the job.
  ended.catch(held.reject);
  return { summary: await held.promise, ended };
}

/** A request whose process is gone, while a backend worked on it. */
interface ForsakenImages {
  readonly call: ImageCall;
  readonly terms: ImageTerms;
  readonly upstream: string;
  /** The attempts before that backend. */
  readonly earlier: readonly Attempt[];
}

/** A request for which the backend has jobs of its own. */
interface ForsakenImageJob extends ForsakenImages {
  readonly account: AccountId;
  readonly submitted: readonly ImagePart[];
  readonly deadline: number;
}

/**
 * As it is read from where it was kept. `terms` throws where an earlier version kept none, and the catalog does not know
 * the model any more: then the hold is released.
 */
type Kept<Images extends ForsakenImages> = Omit<Images, 'terms'> & { terms(): ImageTerms };

/** Continues a job whose hold was adopted. */
export function resumeImageJob(
  kept: Kept<ForsakenImageJob>,
  record: Pick<ImageRecord, 'delivered'>,
  parts: RelayParts,
): { readonly hold: ActiveHold; readonly ended: StartedImageJob['ended'] } {
  const { call } = kept;
  const hold = new ActiveHold(call, parts);
  const ended = hold.voidOnFailure(async () => {
    hold.start();
    const terms = kept.terms();
    const job = { ...kept, terms };
    const resumed = await resumedAnswer(job, hold, parts);
    if (resumed.kind === 'ended') return await endImages(hold, resumed.end);
    const { answer, attempts, firstByteMs } = resumed;
    const served = { answer, upstream: job.upstream, attempts, firstByteMs };
    return (await deliverImages({ call, terms, hold, served }, record)).settled;
  });
  return { hold, ended };
}

type ResumedAnswer =
  | {
      readonly kind: 'answered';
      readonly answer: ImageAnswer;
      readonly attempts: readonly Attempt[];
      readonly firstByteMs: number;
    }
  | { readonly kind: 'ended'; readonly end: EndedImages };

/** Asks the backend for its job again and again while it cannot be reached, since nothing new is bought by that. */
async function resumedAnswer(
  job: ForsakenImageJob,
  hold: ActiveHold,
  parts: RelayParts,
): Promise<ResumedAnswer> {
  const { account, upstream, terms, earlier } = job;
  const { model } = terms.route;
  const target = { upstream, model: modelAt(model, upstream), account };
  const deadline = untilDeadline(hold, job.deadline, parts);
  const startedAt = parts.clock.now();
  for (;;) {
    const permit = parts.upstreams.has(upstream) ? parts.upstreams.admit(target) : undefined;
    if (!permit) return { kind: 'ended', end: unknownEnd(job, attemptFault(undefined, Infinity)) };
    if (permit.kind === 'permit') {
      const { form } = model;
      const planned = { permit, model: target.model, form, isSilent: true, earlier, deadline, parts };
      const result = await tryOne(planned, (backend, attempt) => resumeAt(backend, job, attempt));
      const attempts = [...earlier, result.record];
      if (result.kind === 'served')
        return {
          kind: 'answered',
          answer: result.answer,
          attempts,
          firstByteMs: parts.clock.now() - startedAt,
        };
      const { failure } = result;
      if (hold.isAbandoned || hold.timedOut || !mayAskAgain(failure)) {
        // The backend has the job and may bill it, even if it can no longer be asked about it.
        const isKnown = !mayAskAgain(failure) && !mayBeBilled(failure);
        const end = unknownEnd(job, attemptFault(failure, Infinity), result.record);
        return { kind: 'ended', end: isKnown ? { ...end, unseen: 0 } : end };
      }
    }
    if (parts.clock.now() > job.deadline || hold.isAbandoned)
      return { kind: 'ended', end: unknownEnd(job, pastDeadline()) };
    await Bun.sleep(Math.min(RESUME_PAUSE_MS, permit.kind === 'wait' ? permit.waitMs : RESUME_PAUSE_MS));
  }
}

const RESUME_PAUSE_MS = 1_000;

/** After a change of the catalog a backend may no longer work by jobs: then it cannot be asked for these. */
async function resumeAt(
  upstream: Upstream,
  { call, terms, submitted }: ForsakenImageJob,
  options: AttemptOptions,
): Promise<ImageAnswer> {
  if (!upstream.resumeImages)
    throw new UpstreamFailure('protocol', 'this backend does not work by jobs', { blameless: true });
  const { earlier: _, ...attempt } = options;
  const { image: __, mask: ___, ...request } = call.request;
  const { size, shape, convertTo } = terms.fitting;
  const { requestId } = call;
  return await upstream.resumeImages(submitted, {
    ...attempt,
    request,
    size,
    shape,
    convertTo,
    requestId,
    // A process that stops now leaves its jobs to the next one.
    onJob: () => undefined,
    endsWithProcess: false,
  });
}

/** An answer of the backend about the job is final; a failure to ask it is not. */
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
  return new Fault('upstream_timeout', 'The backend did not answer in time. Try again later.');
}

/** Closes an adopted hold whose request cannot be continued. `delivered`: what its client had got by then. */
export async function endInterrupted(
  kept: Kept<ForsakenImages & { readonly delivered: Usage }>,
  fault: Fault,
  parts: RelayParts,
): Promise<void> {
  const hold = new ActiveHold(kept.call, parts);
  const end = async (): Promise<unknown> => {
    hold.start();
    return await endImages(hold, interruptedEnd({ ...kept, terms: kept.terms() }, kept.delivered, fault));
  };
  await hold.voidOnFailure(end).catch(() => undefined);
}

function interruptedEnd(images: ForsakenImages, delivered: Usage, fault: Fault): EndedImages {
  if (isEmpty(delivered)) return unknownEnd(images, fault);
  const { upstream, terms } = images;
  return {
    ...unknownEnd(images, fault, { upstream, result: 'served', durationMs: 0 }),
    delivered: { usage: delivered, source: 'counted' },
    unseen: terms.count - delivered.images,
  };
}

/** Nothing arrived, and the backend may have made all of it. */
function unknownEnd(
  { terms, upstream, earlier }: ForsakenImages,
  fault: Fault,
  attempt: Attempt = { upstream, result: 'failed', reason: 'connection_lost', durationMs: 0 },
): EndedImages {
  return {
    terms,
    upstream,
    attempts: [...earlier, attempt],
    delivered: NOTHING_DELIVERED,
    unseen: terms.count,
    outcome: 'expired',
    firstByteMs: 0,
    fault,
  };
}
