import type { LiveCaseName, LiveCheckRequest, LiveResult, LiveUsage } from '../../cli/command.ts';
import {
  costPriceFor,
  priceFor,
  type Catalog,
  type Model,
  type PriceSnapshot,
} from '../../catalog/catalog.ts';
import { costOf, NO_USAGE, worstCase, type Price, type Usage } from '../../ledger/price.ts';
import { readImageUsage, readUsage, reportedCost } from '../../relay/stream/reported-usage.ts';
import type { Clock } from '../../std/clock.ts';
import { ZERO, addNano, minNano, subtractNano, type NanoUsd } from '../../std/money.ts';
import { makeUpstream, type BuiltInKinds } from '../../upstream/make-upstream.ts';
import { UpstreamFailure, type Upstream } from '../../upstream/port.ts';
import { readLiveAnswer } from './live-answer.ts';
import { CHAT_CASES, IMAGE_PROMPT, type LiveChatCase } from './live-cases.ts';

const CASE_TIMEOUT_MS = 120_000;
/** Enough for a few words, and for what a model thinks before them. */
const OUTPUT_TOKENS = 256;
const THINKING_TOKENS = 2_048;
/** The most that a picture takes, where the catalog does not say; as in the bound of every request. */
const MOST_IMAGE_TOKENS = 48_169;

/** Sends a backend one request after the other, each with its worst case held first. */
export async function liveCheck(
  request: LiveCheckRequest,
  parts: { readonly clock: Clock; readonly builtIn: BuiltInKinds },
): Promise<LiveResult[]> {
  const config = request.catalog.upstreams.get(request.backend);
  if (!config) throw new Error(`there is no backend '${request.backend}'`);
  const upstream = makeUpstream(config, parts.clock, parts.builtIn);
  const run = { request, upstream, cap: new SpendingCap(request.most), clock: parts.clock };
  const results: LiveResult[] = [];
  const isWanted = (name: LiveCaseName): boolean => request.cases?.includes(name) ?? true;
  for (const one of CHAT_CASES) if (isWanted(one.name)) results.push(await chatResult(one, run));
  if (isWanted('image out')) results.push(await imageResult(run));
  return results;
}

interface LiveRun {
  readonly request: LiveCheckRequest;
  readonly upstream: Upstream;
  readonly cap: SpendingCap;
  readonly clock: Clock;
}

/** What a call would cost at most, and how to make it. */
interface PlannedCall {
  readonly name: LiveResult['name'];
  readonly model: Model;
  readonly price: Price;
  readonly worst: NanoUsd;
  call(signal: AbortSignal): Promise<MadeCall>;
}

interface MadeCall {
  /** `undefined`: the provider reported no usage that can be true. */
  readonly usage: Usage | undefined;
  readonly raw: unknown;
  readonly text: string;
  readonly problem: string | undefined;
}

async function chatResult(one: LiveChatCase, run: LiveRun): Promise<LiveResult> {
  const model = cheapest(run.request, 'chat_completion', (candidate) =>
    one.needs === undefined ? true : candidate[one.needs],
  );
  if (!model) return notSold(one.name, one.needs === undefined ? 'chats' : one.needs);
  const upstreamModel = model.upstreamModels.get(run.request.backend) ?? model.id;
  const output = Math.min(model.maxOutput, model.reasoning ? THINKING_TOKENS : OUTPUT_TOKENS);
  const request = { ...one.request, model: upstreamModel, max_tokens: output };
  const picture = one.needs === 'vision' ? (model.inputs?.image?.maxTokens ?? MOST_IMAGE_TOKENS) : 0;
  // A token has at least one byte.
  const input = Buffer.byteLength(JSON.stringify(one.request)) + one.addedTokens + picture;
  const price = priceAt(model, run.request.backend);
  return await runHeld(run, {
    name: one.name,
    model,
    price,
    worst: worstCase(price, { kind: 'tokens', input, output, choices: 1 }, output),
    async call(signal) {
      const answer = await readLiveAnswer(
        await run.upstream.chat({
          model: upstreamModel,
          form: model.form,
          request,
          signal,
          requestId: 'live',
        }),
      );
      const usage = readUsage(answer.usage, answer.serviceTier);
      const problem = one.problem(answer) ?? (usage ? undefined : 'the answer has no usage');
      return { usage, raw: answer.usage, text: answer.text, problem };
    },
  });
}

async function imageResult(run: LiveRun): Promise<LiveResult> {
  const { backend } = run.request;
  const model = cheapest(run.request, 'image_generation', () => true);
  if (!model) return notSold('image out', 'images');
  const size = model.sizes[0] ?? '1024x1024';
  const price = priceAt(model, backend, size);
  const [width = 0, height = 0] = size.split('x').map(Number);
  const pixels = width * height;
  const input = Buffer.byteLength(IMAGE_PROMPT) + 64;
  const upstreamModel = model.upstreamModels.get(backend) ?? model.id;
  return await runHeld(run, {
    name: 'image out',
    model,
    price,
    worst: worstCase(price, { kind: 'images', images: 1, pixels, input, output: model.maxOutput }, 0),
    async call(signal) {
      const request = { model: upstreamModel, prompt: IMAGE_PROMPT, n: 1, size };
      const made = { model: upstreamModel, form: model.form, request, size, signal, requestId: 'live' };
      const { images, usage: raw, quality } = await run.upstream.images(made);
      const usage = readImageUsage(raw, { images: images.length, pixels, quality });
      return {
        usage,
        raw,
        text: '',
        problem: images.some(({ bytes }) => bytes.byteLength > 0) ? undefined : 'no image came',
      };
    },
  });
}

async function runHeld({ cap, clock }: LiveRun, planned: PlannedCall): Promise<LiveResult> {
  const { name, model, worst } = planned;
  const hold = cap.hold(worst);
  const about = { name, model: model.id, held: worst };
  if (!hold)
    return {
      ...about,
      kind: 'skipped',
      reason: 'it could cost more than is left of --max-usd',
      cost: ZERO,
      durationMs: 0,
    };
  const startedAt = clock.now();
  const done = (): { durationMs: number } => ({ durationMs: clock.now() - startedAt });
  try {
    const made = await planned.call(AbortSignal.timeout(CASE_TIMEOUT_MS));
    const cost = settle(hold, planned.price, made);
    const usage = shownUsage(made);
    const reason = made.problem ?? (cost > worst ? 'it used more than it could by our count' : undefined);
    if (reason !== undefined) return { ...about, kind: 'failed', reason, usage, cost, ...done() };
    return { ...about, kind: 'passed', usage, cost, ...done() };
  } catch (thrown) {
    if (!(thrown instanceof UpstreamFailure) && !isTimeout(thrown)) throw thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    const unbilled = thrown instanceof UpstreamFailure && UNBILLED.has(thrown.kind);
    if (unbilled) hold.settle(ZERO);
    return { ...about, kind: 'failed', reason, cost: unbilled ? ZERO : worst, ...done() };
  }
}

/** A backend that refused has not begun to work. After any other failure the whole hold counts as spent. */
const UNBILLED: ReadonlySet<string> = new Set([
  'connect',
  'overloaded',
  'rate_limited',
  'unauthorized',
  'out_of_credit',
  'forbidden',
  'not_found',
  'rejected',
]);

function isTimeout(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'TimeoutError';
}

/** The dearer of what the usage costs and what the provider says; without either, all that was held. */
function settle(hold: SpendingHold, price: Price, { usage, raw }: MadeCall): NanoUsd {
  const counted = usage && costOf(price, usage);
  const reported = reportedCost(raw);
  if (counted === undefined && reported === undefined) return hold.worst;
  const used = counted === undefined || (reported ?? ZERO) > counted ? (reported ?? ZERO) : counted;
  hold.settle(used);
  return used;
}

function shownUsage({ usage, raw, text }: MadeCall): LiveUsage {
  const { input, cached, output, reasoning, images } = usage ?? NO_USAGE;
  const count = (value: number): number | undefined => (usage ? value : undefined);
  return {
    input: count(input),
    cached: count(cached),
    output: count(output),
    reasoning: count(reasoning),
    images: count(images),
    text,
    reportedCost: reportedCost(raw),
  };
}

/** The backend's cost, or the selling price where the cost is not known. */
function priceAt(model: Model, backend: string, size?: string): PriceSnapshot {
  return costPriceFor(model, backend, { size }) ?? priceFor(model, { size });
}

function cheapest(
  { catalog, backend, model }: LiveCheckRequest,
  type: 'chat_completion' | 'image_generation',
  canDo: (model: Model) => boolean,
): Model | undefined {
  return modelsOf(catalog, backend, type)
    .filter((one) => (model === undefined || one.id === model) && canDo(one))
    .toSorted((one, other) => amountOf(one, backend) - amountOf(other, backend))[0];
}

function modelsOf({ endpoints }: Catalog, backend: string, type: string): Model[] {
  return [...endpoints.values()]
    .filter((endpoint) => endpoint.type === type && endpoint.unavailable === undefined)
    .filter(({ places }) => places.flat().some(({ upstream }) => upstream === backend))
    .flatMap(({ models }) => models);
}

/** To compare models with each other: output is most of what a small request costs. */
function amountOf(model: Model, backend: string): number {
  const price = priceAt(model, backend);
  return price.kind === 'tokens' ? price.output : price.image;
}

function notSold(name: LiveResult['name'], what: string): LiveResult {
  return {
    name,
    model: undefined,
    kind: 'skipped',
    reason: `no model of this backend is sold for ${what}`,
    held: ZERO,
    cost: ZERO,
    durationMs: 0,
  };
}

/**
 * Money that may be spent and no more: the worst case of a call is held before it is made, and what it used is spent
 * afterwards. What is spent and held together never exceeds the cap.
 */
class SpendingCap {
  readonly #most: NanoUsd;
  #spent: NanoUsd = ZERO;

  constructor(most: NanoUsd) {
    this.#most = most;
  }

  get spent(): NanoUsd {
    return this.#spent;
  }

  get left(): NanoUsd {
    return subtractNano(this.#most, this.#spent);
  }

  /** `undefined`: it could cost more than is left. One hold at a time: calls are made one after the other. */
  hold(worst: NanoUsd): SpendingHold | undefined {
    if (worst > this.left) return undefined;
    this.#spent = addNano(this.#spent, worst);
    return {
      worst,
      settle: (used) => {
        this.#spent = addNano(subtractNano(this.#spent, worst), minNano(used, worst));
      },
    };
  }
}

interface SpendingHold {
  readonly worst: NanoUsd;
  /** Called at most once; without a call the whole hold counts as spent. */
  settle(used: NanoUsd): void;
}
