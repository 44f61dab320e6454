import { admissionSummary, type Admitted } from './admission.ts';
import { withPossibleCost } from './attempt-costs.ts';
import {
  AllAttemptsFailed,
  attemptFault,
  modelAt,
  tryOne,
  type AnsweredAttempt,
  type AttemptDeadline,
  type AttemptOptions,
} from './attempts.ts';
import type { AdmissionSummary, ImageCall, RelayParts } from './call.ts';
import { ActiveHold } from './hold/active-hold.ts';
import { IMAGES, settleImages, type ImageQuote, type ImageReply } from './images.ts';
import { relay, type AnsweredCall, type Operation } from './relay.ts';
import type { Settled } from '../ledger/port.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import type { GeneratedImage, ImageAnswer, Upstream, UpstreamFailure } from '../upstream/port.ts';

/** What is written down of a job while it runs, so that another process can go on with it. */
export interface ImageJobRecord {
  /** It has a hold. Throws if the job cannot be kept. */
  held(admission: Admitted, hold: ActiveHold): Promise<void>;
  /** A backend is called. */
  started(upstream: string): Promise<void>;
  /** The backend has a job of its own, which it works on for at most `lifeMs`. */
  accepted(backendJob: string, lifeMs: number): Promise<void>;
  /** Stores the images, before they are charged. Throws if they cannot be stored. */
  delivered(images: readonly GeneratedImage[]): Promise<void>;
}

export interface StartedImageJob {
  readonly summary: AdmissionSummary;
  /** How it was charged; rejects with the fault that it failed with. Nothing is charged then. */
  readonly ended: Promise<Settled | undefined>;
}

/** Resolves when the call is held and written down; a refusal is thrown, as for a call that is waited for. */
export async function startImageJob(
  call: ImageCall,
  record: ImageJobRecord,
  parts: RelayParts,
): Promise<StartedImageJob> {
  const held = Promise.withResolvers<AdmissionSummary>();
  const operation: JobOperation = {
    ...recorded(record, parts),
    async onHeld({ quote, hold }, admission) {
      await record.held(admission, hold);
      held.resolve(admissionSummary(call, quote, admission, undefined));
    },
  };
  const ended = relay(operation, call, parts).then(({ settled }) => settled);
  // After it was held the failure is the job's alone.
  ended.catch(held.reject);
  return { summary: await held.promise, ended };
}

type JobOperation = Operation<ImageCall, ImageQuote, ImageAnswer, ImageReply>;

function recorded(record: ImageJobRecord, parts: RelayParts): JobOperation {
  return {
    ...IMAGES,
    async callUpstream(admitted, upstream, attempt) {
      await record.started(upstream.name);
      return await IMAGES.callUpstream(admitted, upstream, withRecord(attempt, upstream, { record, parts }));
    },
    async deliver(answered) {
      await record.delivered(imagesOf(answered));
      return await IMAGES.deliver(answered);
    },
  };
}

function withRecord(
  attempt: AttemptOptions,
  { name }: Upstream,
  { record, parts }: { readonly record: ImageJobRecord; readonly parts: RelayParts },
): AttemptOptions {
  const { totalMs } = parts.upstreams.timeouts(name);
  const endsAt = parts.clock.now() + totalMs;
  return { ...attempt, onJob: (job) => record.accepted(job, endsAt - parts.clock.now()) };
}

function imagesOf({
  served,
  quote,
}: Pick<AnsweredCall<ImageCall, ImageQuote, ImageAnswer>, 'served' | 'quote'>): readonly GeneratedImage[] {
  return served.answer.images.slice(0, quote.count);
}

/** A job that another process began, and what its backend calls it. */
export interface ForsakenImageJob {
  readonly call: ImageCall;
  readonly account: AccountId;
  readonly upstream: string;
  readonly backendJob: string;
  readonly deadline: number;
}

/** Goes on with a job whose hold was adopted. */
export function resumeImageJob(
  job: ForsakenImageJob,
  record: ImageJobRecord,
  parts: RelayParts,
): { readonly hold: ActiveHold; readonly ended: StartedImageJob['ended'] } {
  const { call } = job;
  const hold = new ActiveHold(call, parts);
  const ended = hold.voidOnFailure(async () => {
    const quote = IMAGES.quote(call, parts);
    const served = await resumedAnswer(job, quote, { hold, record, parts });
    await record.delivered(imagesOf({ served, quote }));
    return (await settleImages({ call, quote, hold, served })).settled;
  });
  return { hold, ended };
}

interface ResumeParts {
  readonly hold: ActiveHold;
  readonly record: ImageJobRecord;
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
    if (!permit) throw new AllAttemptsFailed(attemptFault(undefined, Infinity), []);
    if (permit.kind === 'permit') {
      const result = await tryOne({
        permit,
        model: target.model,
        form,
        isSilent: true,
        deadline,
        parts,
        notes: undefined,
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
        const attempt = await withPossibleCost(result.record, failure.kind, quote, undefined);
        throw new AllAttemptsFailed(attemptFault(failure, Infinity), [attempt]);
      }
    }
    if (parts.clock.now() > job.deadline || hold.isAbandoned) throw pastDeadline();
    await Bun.sleep(Math.min(RESUME_PAUSE_MS, permit.kind === 'wait' ? permit.waitMs : RESUME_PAUSE_MS));
  }
}

const RESUME_PAUSE_MS = 1_000;

/** What a backend says about the job is final. That it could not be asked is not. */
function mayAskAgain({ kind, status }: UpstreamFailure): boolean {
  const isUnreachable = kind === 'connect' || kind === 'connection_lost' || kind === 'overloaded';
  return isUnreachable || kind === 'rate_limited' || (status !== undefined && status >= 500);
}

/** The time that the job had in the process before counts too. */
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

function pastDeadline(): AllAttemptsFailed {
  const fault = new Fault('upstream_timeout', 'The backend did not answer in time. Retry later.');
  return new AllAttemptsFailed(fault, []);
}
