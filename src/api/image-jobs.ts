import type { ImageJobRow, ImageJobStore, InterruptedJob } from '../activity/image-job-store.ts';
import { paidAnswer } from '../http/response.ts';
import { isEmpty } from '../ledger/price.ts';
import { NOBODY_LEAVES, type ImageCall, type InputPicture, type RelayParts } from '../relay/call.ts';
import { endInterrupted, resumeImageJob, startImageJob, type StartedImageJob } from '../relay/image-job.ts';
import { termsFrom } from '../relay/image-terms.ts';
import { quoteImages } from '../relay/images.ts';
import { asFault, Fault } from '../std/fault.ts';
import type { RequestMemory } from '../std/held-memory.ts';
import type { AccountId, RequestId } from '../std/ids.ts';
import { ownRecord, type RequestRecord } from '../std/request-record.ts';
import type { ImagePart } from '../upstream/port.ts';
import { faultBody, type FaultBody } from '../wire/fault-body.ts';
import type { ImageLinks } from './image-links.ts';
import { keptCallOf, PlainImageRecord, RunningImageJob, storedImagesOf } from './image-records.ts';

interface ImageJobsOptions {
  readonly relay: RelayParts;
  readonly store: ImageJobStore;
  readonly links: ImageLinks;
  /** How many may run in this process at once. */
  readonly max: number;
  /** How long a request may live by its deadlines. */
  readonly longestMs: () => number;
}

const FULL_RETRY_MS = 5_000;
const ADOPT_TOGETHER = 100;

/**
 * Image requests that are answered at once (`Prefer: respond-async`) and fetched later. A job lives on its request's
 * hold: the same limits and the same balance apply, and the process that owns the hold continues the job.
 */
export class ImageJobs {
  readonly #options: ImageJobsOptions;
  readonly #running = new Map<RequestId, RunningImageJob>();
  readonly #finishing = new Set<Promise<void>>();
  #isStopping = false;

  constructor(options: ImageJobsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Resolves once the call has its hold and its row. */
  async start(
    asked: ImageCall,
    answered: RequestRecord | undefined,
    memory: Pick<RequestMemory, 'keep'>,
  ): Promise<Response> {
    if (this.#running.size >= this.#options.max) throw full();
    // A job continues when its client leaves, and its end is not part of the access log's line about this answer.
    const requestRecord = asked.requestRecord && ownRecord(asked.requestRecord);
    if (requestRecord) this.#options.relay.spans?.detached(requestRecord);
    const call = { ...asked, requestRecord, connection: NOBODY_LEAVES };
    const job = this.#runningJob(call);
    this.#running.set(call.requestId, job);
    // Its pictures are in memory while it runs, long after its answer.
    const releaseMemory = memory.keep();
    try {
      const { relay } = this.#options;
      const { summary, ended } = await startImageJob(call, job, relay);
      this.#follow(job, ended, releaseMemory);
      const { account, endpoint, model } = requestRecord ?? {};
      if (answered) Object.assign(answered, { account, endpoint, model });
      const created = seconds(job.createdAt);
      const response = paidAnswer({ id: call.requestId, status: 'queued', created }, summary);
      response.headers.set('preference-applied', RESPOND_ASYNC);
      return response;
    } catch (thrown) {
      this.#running.delete(call.requestId);
      releaseMemory();
      throw thrown;
    }
  }

  /** For a request whose client waits for its images. */
  plain(call: ImageCall, links: ImageLinks): PlainImageRecord {
    const { store, relay } = this.#options;
    return new PlainImageRecord(call, { store, links, relay });
  }

  /** A job of another account is not found. */
  async find(id: string, account: AccountId, origin: string): Promise<ImageJobView> {
    const row = await this.#options.store.find(id, account);
    if (!row) throw new Fault('not_found', 'There is no such job on this account.');
    return this.#view(row, origin);
  }

  /** Continues the jobs of processes that are gone, and ends those that cannot be continued. */
  async takeOver(): Promise<void> {
    if (this.#isStopping) return;
    const { store, max, relay } = this.#options;
    const limit = Math.min(ADOPT_TOGETHER, max - this.#running.size);
    for (const row of limit > 0 ? await store.forsaken(limit) : []) {
      const id = row.id as RequestId;
      if (this.#running.has(id) || !(await relay.ledger.adopt(id))) continue;
      if (this.#isStopping) return await relay.ledger.giveUp([id]);
      this.#resume(id, row);
    }
    for (const row of await store.interrupted()) await this.#endInterrupted(row);
    for (const { id, deadline, request, isPaid } of await store.unended()) {
      // Its client has its answer; only the note of it is missing.
      if (!isPaid && keptCallOf(request).isPlain === true) await store.forget(id);
      else if (isPaid) await store.done(id);
      else await store.failed(id, errorText(deadline < relay.clock.now() ? tooLate() : interrupted()));
    }
  }

  /** At shutdown: leaves jobs that run at their backends to the next process. */
  async handOver(): Promise<void> {
    this.#isStopping = true;
    const left = [...this.#running.values()].filter((job) => job.leave());
    if (left.length > 0) await this.#options.relay.ledger.giveUp(left.map(({ requestId }) => requestId));
  }

  /** Waits until every job of this process that ended says so in its row, or `deadlineMs` have passed. */
  async ended(deadlineMs: number): Promise<void> {
    if (this.#finishing.size === 0) return;
    await Promise.race([Promise.all(this.#finishing), Bun.sleep(deadlineMs)]);
  }

  #follow(job: RunningImageJob, ended: StartedImageJob['ended'], onEnded?: () => void): void {
    const finishing = this.#finish(job, ended).finally(() => {
      this.#finishing.delete(finishing);
      onEnded?.();
    });
    this.#finishing.add(finishing);
  }

  /** Ends a request whose process died while a backend without jobs worked on it, or whose backend took too long. */
  async #endInterrupted(row: InterruptedJob): Promise<void> {
    const { relay, store } = this.#options;
    const id = row.id as RequestId;
    if (this.#running.has(id) || !(await relay.ledger.adopt(id))) return;
    const fault = row.deadline < relay.clock.now() ? tooLate() : interrupted();
    relay.log.warn('image_request_interrupted', { request: id, backend: row.backend });
    await endInterrupted({ ...forsakenOf(row, relay), delivered: row.delivered }, fault, relay);
    if (keptCallOf(row.request).isPlain !== true) await store.failed(id, errorText(fault));
    else await (isEmpty(row.delivered) ? store.abandon(id) : store.forget(id));
  }

  #resume(id: RequestId, row: ImageJobRow): void {
    const { relay } = this.#options;
    const forsaken = forsakenOf(row, relay);
    const job = this.#runningJob(forsaken.call);
    this.#running.set(id, job);
    const { hold, ended } = resumeImageJob(forsaken, job, relay);
    job.resumed(hold);
    relay.log.info('image_job_adopted', { request: id, backend: row.backend });
    this.#follow(job, ended);
  }

  #runningJob(call: ImageCall): RunningImageJob {
    const { store, links, relay, longestMs } = this.#options;
    const onAccepted = (): void => {
      if (!this.#isStopping) return;
      this.handOver().catch((error: unknown) =>
        relay.log.warn('image_job_not_handed_over', { request: call.requestId, error }),
      );
    };
    return new RunningImageJob(call, { store, links, relay, longestMs, onAccepted });
  }

  /** If the end cannot be written now, `takeOver` writes it later. */
  async #finish(job: RunningImageJob, ended: StartedImageJob['ended']): Promise<void> {
    const { requestId } = job;
    const { store, relay } = this.#options;
    const end = await ended.then(
      (settled) => (settled && settled.state !== 'posted' ? interrupted() : undefined),
      asFault,
    );
    this.#running.delete(requestId);
    try {
      if (job.isLeft) return;
      if (!end) return await store.done(requestId);
      relay.log.warn('image_job_failed', { request: requestId, code: end.code, detail: end.detail });
      await store.failed(requestId, errorText(end));
    } catch (error) {
      relay.log.error('image_job_not_ended', { request: requestId, error });
    }
  }

  #view(row: ImageJobRow, origin: string): ImageJobView {
    const { links } = this.#options;
    const { id, state: status, result, error } = row;
    const data = storedImagesOf(result).map(({ id: image, revisedPrompt }) => ({
      url: links.link(image, origin),
      ...(revisedPrompt === undefined ? {} : { revised_prompt: revisedPrompt }),
    }));
    return {
      id,
      status,
      created: seconds(row.created_at),
      ...(status === 'done' && { data }),
      // Written by `errorText` alone.
      ...(error !== null && { error: JSON.parse(error) as FaultBody['error'] }),
    };
  }
}

/** The request as another process wrote it down. */
function forsakenOf(row: ImageJobRow, relay: RelayParts) {
  const { selector, label, client, request, terms, earlier = [], submitted } = keptCallOf(row.request);
  const call = adoptedCall(row, { selector, label, client, request });
  const { backend, backend_job, deadline } = row;
  return {
    call,
    account: row.account_id as AccountId,
    upstream: backend ?? '',
    earlier,
    submitted: submitted ?? namedParts(backend_job, request.n ?? 1),
    deadline,
    terms: () => (terms ? termsFrom(terms) : quoteImages(call, relay)),
  };
}

/** Earlier versions wrote down only the names of the jobs. */
function namedParts(jobs: string | null, images: number): ImagePart[] {
  const names = jobs?.split(' ') ?? [];
  return names.map((job) => ({ job, images: Math.ceil(images / names.length) }));
}

function adoptedCall(
  row: ImageJobRow,
  { request, ...kept }: Pick<ReturnType<typeof keptCallOf>, 'selector' | 'label' | 'client' | 'request'>,
): ImageCall {
  const { image, mask } = request;
  return {
    ...kept,
    request: { ...request, image: image?.map(elsewhere), mask: mask && elsewhere(mask) },
    requestId: row.id as RequestId,
    caller: { kind: 'account', id: row.account_id as AccountId },
    connection: NOBODY_LEAVES,
    size: { bytes: 0, characters: 0 },
    cap: 'lowered',
  };
}

function elsewhere({ mime }: Pick<InputPicture, 'mime'>): InputPicture {
  return { mime, load: () => Promise.resolve(undefined) };
}

interface ImageJobView {
  readonly id: string;
  readonly status: ImageJobRow['state'];
  readonly created: number;
  readonly data?: readonly { readonly url: string; readonly revised_prompt?: string }[];
  readonly error?: FaultBody['error'];
}

const RESPOND_ASYNC = 'respond-async';

/** RFC 7240: a list of preferences, each with parameters; what is not known is ignored. */
export function prefersAsync({ headers }: Pick<Request, 'headers'>): boolean {
  const preferences = headers.get('prefer')?.split(',') ?? [];
  return preferences.some((one) => one.split(';')[0]?.trim().toLowerCase() === RESPOND_ASYNC);
}

function errorText(fault: Fault): string {
  return JSON.stringify(faultBody(fault).error);
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function full(): Fault {
  const message = 'This server has reached its limit of image jobs. Try again later.';
  return new Fault('concurrency_limit_exceeded', message, { retryAfterMs: FULL_RETRY_MS });
}

function interrupted(): Fault {
  const message = 'The server stopped while this job ran. Nothing was charged; send the request again.';
  return new Fault('service_unavailable', message);
}

function tooLate(): Fault {
  return new Fault('upstream_timeout', 'The backend was not done in time. Nothing was charged.');
}
