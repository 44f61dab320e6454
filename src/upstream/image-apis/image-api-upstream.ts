import { setTimeout as pause } from 'node:timers/promises';
import type { UpstreamConfig } from '../../catalog/catalog.ts';
import { parseAnswer, readBytes } from '../../std/json-answer.ts';
import { withTrace } from '../../std/trace.ts';
import { baseUrl } from '../ai-sdk/provider.ts';
import { ANSWER } from '../answer-rules.ts';
import type { ImageLinkRules } from '../image-download.ts';
import { imageOf, joinParts, noImage, split, type PartAnswer } from '../image-response.ts';
import {
  connectionFailure,
  UpstreamFailure,
  type FailureKind,
  type ImageAnswer,
  type ImagePart,
  type Upstream,
  type UpstreamHealth,
  type UpstreamImageCall,
} from '../port.ts';
import { failureOf, isOperatorProblem, refuseEncoded, rejected, retryAfter } from '../response.ts';
import { bfl } from './bfl.ts';
import { fal } from './fal.ts';
import {
  isRecord,
  type ImageApi,
  type ImageApiAnswer,
  type ImageApiReading,
  type ImageApiRequest,
  type ImageState,
} from './image-api.ts';
import { imagen } from './imagen.ts';
import { replicate } from './replicate.ts';
import { stability } from './stability.ts';

/** The upstream for a configuration whose kind is a provider of images alone; undefined for other kinds. */
export function makeImageApi(config: UpstreamConfig, times: PollTimes = POLL_TIMES): Upstream | undefined {
  const api = IMAGE_APIS.find(({ kind, models }) => kind === config.kind && !models);
  if (!api) return undefined;
  const upstream = new ImageApiUpstream(api, config, times);
  return {
    name: config.name,
    chat: () => Promise.reject(rejected('This backend makes images alone.')),
    images: (call) => upstream.images(call),
    check: (signal) => upstream.check(signal),
    ...(api.jobs && { resumeImages: (parts, call) => upstream.resume(parts, call) }),
  };
}

/** Some models of a kind make images by an API of their own. */
export function withImageApi(upstream: Upstream, config: UpstreamConfig): Upstream {
  const api = IMAGE_APIS.find(({ kind, models }) => kind === config.kind && models);
  if (!api) return upstream;
  const own = new ImageApiUpstream(api, config, POLL_TIMES);
  return {
    ...upstream,
    images: (call) => (api.models?.test(call.model) ? own.images(call) : upstream.images(call)),
  };
}

const MAX_JOBS = 10;
const MAX_JOB_LENGTH = 700;
const CANCEL_TIMEOUT_MS = 5_000;

class ImageApiUpstream {
  readonly #api: ImageApi;
  readonly #config: UpstreamConfig;
  readonly #times: PollTimes;
  readonly #base: string;
  readonly #headers: Headers;
  readonly #links: ImageLinkRules;

  constructor(api: ImageApi, config: UpstreamConfig, times: PollTimes) {
    this.#api = api;
    this.#config = config;
    this.#times = times;
    this.#base = baseUrl(config);
    this.#headers = new Headers({
      'accept-encoding': 'identity',
      ...api.headers(config.apiKey ?? ''),
      ...Object.fromEntries(config.headers),
    });
    this.#links = { backend: new URL(this.#base), ownPath: config.options.get('image_path') };
  }

  /** In as many calls as the backend needs. What arrived is the answer if some of them fail. */
  async images(call: UpstreamImageCall): Promise<ImageAnswer> {
    const asked = { ...call, options: this.#config.options, isResumable: call.onJob !== undefined };
    const counts = split(call.request.n ?? 1, this.#api.perCall(asked));
    const requests = counts.map((count) => this.#api.request(asked, count));
    const report = reporter(call, counts);
    const submit = async (request: ImageApiRequest, part: number): Promise<PartAnswer> => {
      const answer = await this.#send(request, call);
      const reading = this.#checked(this.#api.read(answer));
      if (reading.job !== undefined) await report(part, reading.job);
      return await this.#finish(reading, call);
    };
    return await joinParts(
      requests.map((request, part) => ({ images: counts[part] ?? 0, answer: submit(request, part) })),
    );
  }

  async resume(parts: readonly ImagePart[], call: UpstreamImageCall): Promise<ImageAnswer> {
    const resumed = async (job: string | undefined): Promise<PartAnswer> => {
      if (job === undefined)
        throw new UpstreamFailure('connection_lost', 'whether it became a job is not known');
      return await this.#finish(this.#checked({ job, state: { kind: 'working' } }), call);
    };
    return await joinParts(
      parts.slice(0, MAX_JOBS).map(({ images, job }) => ({ images, answer: resumed(job) })),
    );
  }

  async check(signal: AbortSignal): Promise<UpstreamHealth> {
    const startedAt = performance.now();
    const { path, keyless } = this.#api.check;
    const response = await this.#fetch({ method: 'GET', path }, { signal });
    await response.body?.cancel();
    if (keyless ? response.status >= 500 : !response.ok) throw await failureOf(response);
    const detail = keyless ? 'reachable; only a request can check the key' : 'reachable, key accepted';
    return { ok: true, detail, latencyMs: Math.round(performance.now() - startedAt) };
  }

  async #finish({ job, state }: ImageApiReading, call: UpstreamImageCall): Promise<PartAnswer> {
    try {
      const last = state.kind === 'working' ? await this.#pollJob(job, call) : state;
      return await this.#imagesOf(last, job, call);
    } catch (thrown) {
      if (job !== undefined && isGivenUp(call, thrown)) this.#cancel(job);
      throw thrown;
    }
  }

  #pollJob(job: string | undefined, call: UpstreamImageCall): Promise<ImageState> {
    const { jobs } = this.#api;
    if (!jobs || job === undefined) throw new UpstreamFailure('protocol', 'a job without a name');
    const ask = async () => {
      const answer = await this.#send(jobs.status(job), call);
      const state = jobs.read(answer);
      if (state.kind === 'working')
        return { kind: 'wait' as const, retryAfterMs: retryAfter(answer.headers) };
      return { kind: 'done' as const, value: state };
    };
    return pollJob(ask, call.signal, this.#times);
  }

  async #imagesOf(state: ImageState, job: string | undefined, call: UpstreamImageCall): Promise<PartAnswer> {
    switch (state.kind) {
      case 'images':
        return await this.#download(state.images, call.signal);
      case 'refused':
        throw rejected(state.message ?? REFUSED);
      case 'failed':
        throw new UpstreamFailure('server', `the job failed: ${state.message}`);
      case 'working':
        throw new UpstreamFailure('protocol', 'a result that is not finished');
      case 'finished':
        return await this.#imagesOf(await this.#result(job, call), undefined, call);
    }
  }

  /** An answer of the backend is final; only a broken connection is tried again. */
  async #result(job: string | undefined, call: UpstreamImageCall): Promise<ImageState> {
    const request = job === undefined ? undefined : this.#api.jobs?.result?.(job);
    if (!request) throw new UpstreamFailure('protocol', 'a finished job without a result');
    const ask = async () => {
      const value = await this.#send(request, call).catch((thrown: unknown) => {
        if (thrown instanceof UpstreamFailure && isFinal(thrown)) return thrown;
        throw thrown;
      });
      return { kind: 'done' as const, value };
    };
    const answer = await pollJob(ask, call.signal, this.#times);
    if (answer instanceof UpstreamFailure) throw answer;
    return this.#api.read(answer).state;
  }

  /**
   * Fetched at once, because a link lives for minutes. A link that cannot be fetched does not lose the other images.
   */
  async #download(sources: readonly (string | Uint8Array)[], signal: AbortSignal): Promise<PartAnswer> {
    const made = sources.slice(0, MAX_JOBS);
    const settled = await Promise.allSettled(made.map((source) => imageOf(source, this.#links, signal)));
    const images = settled.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
    const failed = settled.find((one) => one.status === 'rejected');
    if (images.length === 0) throw failed?.reason ?? noImage();
    return { images, lost: made.length - images.length };
  }

  /** A job's name is sent back together with the key, so it must be a valid name of this backend. */
  #checked(reading: ImageApiReading): ImageApiReading {
    const { job } = reading;
    const { jobs } = this.#api;
    if (job === undefined) return reading;
    const isAddress = job.startsWith('http');
    const isKnown = jobs?.isJob(job) === true && job.length <= MAX_JOB_LENGTH && !/[\s]/.test(job);
    if (!isKnown || (isAddress && !this.#isOwn(job)))
      throw new UpstreamFailure('protocol', 'the backend names a job that is not its own');
    return reading;
  }

  #isOwn(address: string): boolean {
    const base = new URL(this.#base);
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (!url || url.username !== '' || url.password !== '') return false;
    if (url.origin === base.origin) return true;
    return url.protocol === 'https:' && this.#api.jobs?.isOwnHost?.(url.host, base.host) === true;
  }

  #cancel(job: string): void {
    const request = this.#api.jobs?.cancel?.(job);
    if (!request) return;
    const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    // Not waited for: the job may be done already, and its cost is counted as possible.
    void this.#fetch(request, { signal })
      .then((response) => response.body?.cancel())
      .catch(() => undefined);
  }

  async #send(request: ImageApiRequest, call: SentCall): Promise<ImageApiAnswer> {
    const response = await this.#fetch(request, call);
    if (!response.ok) throw operators(await failureOf(response, (failed) => this.#api.refusal?.(failed)));
    await refuseEncoded(response);
    const { headers } = response;
    const bytes = await readBytes(response, ANSWER).catch((cause: unknown) => {
      call.signal.throwIfAborted();
      throw cause instanceof UpstreamFailure ? cause : connectionFailure(cause);
    });
    const isImage = headers.get('content-type')?.startsWith('image/') === true;
    if (isImage) return { headers, json: {}, image: bytes };
    const { value } = await parseAnswer(bytes, ANSWER);
    return { headers, json: isRecord(value) ? value : {}, image: undefined };
  }

  /** A redirect is an error: following it would send the key to another server. */
  async #fetch(request: ImageApiRequest, { signal, trace }: SentCall): Promise<Response> {
    const { method, path, json, form } = request;
    const headers = trace ? withTrace(this.#headers, trace) : new Headers(this.#headers);
    for (const [name, value] of Object.entries(request.headers ?? {})) headers.set(name, value);
    if (json) headers.set('content-type', 'application/json');
    const body = json ? JSON.stringify(json) : form;
    const init: BunFetchRequestInit = {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
      decompress: false,
      timeout: false,
      signal,
    };
    try {
      return await fetch(path.startsWith('http') ? path : this.#base + path, init);
    } catch (cause) {
      signal.throwIfAborted();
      throw connectionFailure(cause);
    }
  }
}

/** A refusal that is about the operator's account and not about the request. */
function operators(failure: UpstreamFailure): UpstreamFailure {
  const { kind, message, status } = failure;
  if (kind !== 'rejected' || !isOperatorProblem(message)) return failure;
  return new UpstreamFailure('unauthorized', message, status === undefined ? {} : { status });
}

function isFinal({ status, kind }: UpstreamFailure): boolean {
  return status !== undefined && kind !== 'rate_limited';
}

type SentCall = Pick<UpstreamImageCall, 'signal' | 'trace'>;

const REFUSED = 'The backend refused this prompt.';

/** A caller that is told of jobs resumes them after a shutdown; a call whose time is up is not resumed. */
function isGivenUp({ onJob, endsWithProcess, signal }: UpstreamImageCall, thrown: unknown): boolean {
  if (!signal.aborted) return isTimeout(thrown);
  return onJob === undefined || endsWithProcess === true || isTimeout(signal.reason);
}

function isTimeout(thrown: unknown): boolean {
  return thrown instanceof UpstreamFailure && thrown.kind === 'timeout';
}

/** One report at a time, each with all parts: written out of order, one that knows fewer jobs would be the last. */
function reporter(
  { onJob }: UpstreamImageCall,
  counts: readonly number[],
): (part: number, job: string) => Promise<void> {
  let parts: readonly ImagePart[] = counts.map((images) => ({ images }));
  let reported: Promise<void> = Promise.resolve();
  return (accepted, job) => {
    parts = parts.map((part, index) => (index === accepted ? { ...part, job } : part));
    return (reported = reported.then(() => onJob?.(parts)));
  };
}

/**
 * Every API of images that is neither OpenAI's nor reached through an AI SDK package. A new one is a file, and a word
 * here.
 */
const IMAGE_APIS: readonly ImageApi[] = [bfl, fal, imagen, replicate, stability];

interface PollTimes {
  readonly firstMs: number;
  /** Each wait is this many times the one before, up to `mostMs`. */
  readonly growth: number;
  readonly mostMs: number;
  /** The longest wait that a backend may ask for. */
  readonly mostAskedMs: number;
  readonly maxPolls: number;
  /** Failures in a row after which the job counts as lost. */
  readonly maxFailures: number;
}

export const POLL_TIMES: PollTimes = {
  firstMs: 250,
  growth: 1.5,
  mostMs: 3_000,
  mostAskedMs: 30_000,
  maxPolls: 2_000,
  maxFailures: 20,
};

type Polled<Done> =
  | { readonly kind: 'done'; readonly value: Done }
  | { readonly kind: 'wait'; readonly retryAfterMs?: number | undefined };

/**
 * Asks until there is a result. The job continues at the backend whether we can ask or not, so a failed question is
 * repeated; the deadline is the caller's `signal`.
 */
async function pollJob<Done>(
  ask: () => Promise<Polled<Done>>,
  signal: AbortSignal,
  times: PollTimes,
): Promise<Done> {
  let waitMs = times.firstMs;
  let failures = 0;
  for (let polls = 0; polls < times.maxPolls; polls++) {
    let polled: Polled<Done>;
    try {
      polled = await ask();
      failures = 0;
    } catch (thrown) {
      signal.throwIfAborted();
      if (!isPassing(thrown) || ++failures > times.maxFailures) throw afterSubmission(thrown);
      polled = { kind: 'wait', retryAfterMs: thrown.retryAfterMs };
    }
    if (polled.kind === 'done') return polled.value;
    const askedMs = Math.min(polled.retryAfterMs ?? 0, times.mostAskedMs);
    await pause(Math.max(waitMs, askedMs), undefined, { signal }).catch(() => signal.throwIfAborted());
    waitMs = Math.min(waitMs * times.growth, times.mostMs);
  }
  throw new UpstreamFailure('timeout', `the job was not done after ${times.maxPolls} questions`);
}

const PASSING: ReadonlySet<FailureKind> = new Set([
  'connect',
  'overloaded',
  'connection_lost',
  'timeout',
  'rate_limited',
  'server',
]);

function isPassing(thrown: unknown): thrown is UpstreamFailure {
  return thrown instanceof UpstreamFailure && PASSING.has(thrown.kind);
}

/**
 * The backend has the job and will bill it, however our last question failed: the failure must not look as if the job
 * was never sent.
 */
function afterSubmission(thrown: unknown): unknown {
  if (!(thrown instanceof UpstreamFailure) || thrown.kind === 'rejected') return thrown;
  return new UpstreamFailure('connection_lost', `the job was lost: ${thrown.message}`, { cause: thrown });
}
