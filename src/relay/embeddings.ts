import type { Ceiling } from '../ledger/port.ts';
import { NO_USAGE } from '../ledger/price.ts';
import { Fault } from '../std/fault.ts';
import type { NanoUsd } from '../std/money.ts';
import { priceFor } from '../catalog/catalog.ts';
import { UpstreamFailure, type EmbeddingAnswer } from '../upstream/port.ts';
import { withoutCost } from '../wire/openai/answer.ts';
import type { EmbeddingRequest } from '../wire/openai/embeddings.ts';
import { routeOf } from './admission.ts';
import type { Call, RelayParts, AdmissionSummary, Quote } from './call.ts';
import { RequestCounter } from './input/request-counter.ts';
import { knobsFor } from './knobs.ts';
import { readUsage, reportedCost, type MeteredUsage } from './stream/reported-usage.ts';
import { relay, type Operation } from './relay.ts';

interface EmbeddingReply {
  readonly summary: AdmissionSummary;
  readonly text: string;
  readonly charged: NanoUsd | undefined;
}

type EmbeddingCall = Call<EmbeddingRequest>;

export function relayEmbeddings(call: EmbeddingCall, parts: RelayParts): Promise<EmbeddingReply> {
  return relay(EMBEDDINGS, call, parts);
}

const EMBEDDINGS: Operation<EmbeddingCall, Quote, EmbeddingAnswer, EmbeddingReply> = {
  quote: quoteEmbeddings,
  isStreamed: () => false,
  async callUpstream({ call, quote, parts }, upstream, attempt) {
    if (!upstream.embed)
      throw new UpstreamFailure('rejected', 'no embeddings', {
        publicMessage: 'This backend has no embeddings.',
      });
    const { knobs, request: asked } = call;
    const request = knobs ? knobsFor(asked, knobs, { quote, upstream: upstream.name, parts }) : asked;
    return await upstream.embed({ ...attempt, request, requestId: call.requestId });
  },
  async deliver({ call, quote, summary, hold, served, parts }) {
    const counter = new RequestCounter(parts, quote.route.model, call.caller);
    const settled = await hold.settle({
      ...served,
      outcome: call.connection.hasLeft ? 'client_left' : 'completed',
      measured: await measure(served.answer, call.request, counter),
    });
    const { usage } = served.answer;
    const shown = usage == null ? {} : { usage: withoutCost(usage) };
    const text = served.answer.text({ model: call.label, ...shown });
    return { summary, text, charged: settled?.charged };
  },
};

function quoteEmbeddings(call: EmbeddingCall, parts: RelayParts): Quote {
  const route = routeOf(call, parts);
  const { texts, given } = inputsOf(call.request);
  // No tokenizer makes more than one token of a byte, or puts more than a few around each text.
  const bound = given + (texts.length === 0 ? 0 : call.size.bytes + MOST_TOKENS_PER_TEXT * texts.length);
  if (bound > MAX_INPUT_TOKENS)
    throw new Fault('context_length_exceeded', 'The input is too long.', { param: 'input' });
  const ceiling = { kind: 'tokens' as const, input: bound, output: 0, choices: 1 };
  const ceilingByCount = async (client?: AbortSignal): Promise<Ceiling> => {
    const counter = new RequestCounter(parts, route.model, call.caller);
    const counted = await counter.forHold(texts, client);
    const most = counted && counter.boundOf(counted) + MOST_TOKENS_PER_TEXT * texts.length + given;
    return { ...ceiling, input: Math.min(bound, most ?? bound) };
  };
  return { route, ceiling, uncounted: { ceilingByCount }, price: priceFor(route.model) };
}

const MOST_TOKENS_PER_TEXT = 4;

/** The texts, and how many tokens were given as numbers. */
function inputsOf({ input }: EmbeddingRequest): { texts: readonly string[]; given: number } {
  const items = [input].flat(2);
  const texts = items.filter((item) => typeof item === 'string');
  return { texts, given: items.length - texts.length };
}

const MAX_INPUT_TOKENS = 20_000_000;

async function measure(
  { usage: raw }: EmbeddingAnswer,
  request: EmbeddingRequest,
  counter: RequestCounter,
): Promise<MeteredUsage> {
  const usage = readUsage(typeof raw === 'object' && raw !== null ? { completion_tokens: 0, ...raw } : raw);
  const reported = reportedCost(raw);
  const cost = reported === undefined ? {} : { cost: reported };
  if (usage && usage.input > 0)
    return { usage: { ...usage, output: 0, reasoning: 0 }, source: 'upstream', ...cost };
  // No text has no tokens: a backend that reports none does not count them.
  const { texts, given } = inputsOf(request);
  const input = given + (await counter.forCharge(texts));
  return { usage: { ...NO_USAGE, input }, source: 'counted', ...cost };
}
