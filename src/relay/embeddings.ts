import { NO_USAGE } from '../ledger/price.ts';
import { Fault } from '../std/fault.ts';
import type { NanoUsd } from '../std/money.ts';
import { resolve, priceFor } from '../catalog/catalog.ts';
import { UpstreamFailure } from '../upstream/port.ts';
import { withoutCost } from '../wire/openai/answer.ts';
import type { EmbeddingRequest } from '../wire/openai/embeddings.ts';
import type { Call, RelayParts, AdmissionSummary, Quote } from './call.ts';
import { RequestCounter } from './input/request-counter.ts';
import { readUsage, reportedCost, type MeteredUsage } from './stream/reported-usage.ts';
import { relay, type Operation } from './relay.ts';

export interface EmbeddingReply {
  readonly summary: AdmissionSummary;
  readonly text: string;
  readonly charged: NanoUsd | undefined;
}

type EmbeddingCall = Call<EmbeddingRequest>;

export function relayEmbeddings(call: EmbeddingCall, parts: RelayParts): Promise<EmbeddingReply> {
  return relay(EMBEDDINGS, call, parts);
}

const EMBEDDINGS: Operation<EmbeddingCall, Quote, Record<string, unknown>, EmbeddingReply> = {
  quote: quoteEmbeddings,
  isStreamed: () => false,
  async callUpstream({ call }, upstream, attempt) {
    if (!upstream.embed)
      throw new UpstreamFailure('rejected', 'no embeddings', {
        publicMessage: 'This backend has no embeddings.',
      });
    return parse(await upstream.embed({ ...attempt, request: call.request, requestId: call.requestId }));
  },
  async deliver({ call, quote, summary, hold, served, parts }) {
    const counter = new RequestCounter(parts.tokens, quote.route.model, call.caller);
    const settled = await hold.settle({
      ...served,
      outcome: call.signal.aborted ? 'client_left' : 'completed',
      measured: await measure(served.answer, call.request, counter),
    });
    const text = JSON.stringify({
      ...served.answer,
      model: call.label,
      ...(served.answer['usage'] != null && { usage: withoutCost(served.answer['usage']) }),
    });
    return { summary, text, charged: settled?.charged };
  },
};

function quoteEmbeddings(call: EmbeddingCall, parts: RelayParts): Quote {
  const route = resolve(parts.catalog(), call.selector);
  const input = Array.isArray(call.request.input) ? call.request.input : [call.request.input];
  const text = input.every((item) => typeof item === 'string');
  // Text has at most one token per two characters; a token given as a number counts as one.
  const tokens = text
    ? Math.ceil(call.size.characters / 2) + call.size.bytes - call.size.characters
    : input.flat().length;
  if (tokens > MAX_INPUT_TOKENS)
    throw new Fault('context_length_exceeded', 'The input is too long.', { param: 'input' });
  return {
    route,
    ceiling: { kind: 'tokens', input: tokens, output: 0, choices: 1 },
    price: priceFor(route.model),
  };
}

const MAX_INPUT_TOKENS = 20_000_000;

function parse(body: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    if (typeof value === 'object' && value !== null && 'data' in value) return value;
  } catch (cause) {
    throw new UpstreamFailure('protocol', 'the answer is not JSON', { cause });
  }
  throw new UpstreamFailure('protocol', 'the answer holds no embeddings');
}

async function measure(
  answer: Record<string, unknown>,
  request: EmbeddingRequest,
  counter: RequestCounter,
): Promise<MeteredUsage> {
  const raw = answer['usage'];
  const usage = readUsage(typeof raw === 'object' && raw !== null ? { completion_tokens: 0, ...raw } : raw);
  const cost = reportedCost(raw);
  if (usage)
    return {
      usage: { ...usage, output: 0, reasoning: 0 },
      source: 'upstream',
      ...(cost !== undefined && { cost }),
    };
  const input = [request.input].flat(2);
  const texts = input.filter((item) => typeof item === 'string');
  const given = input.length - texts.length;
  return { usage: { ...NO_USAGE, input: given + (await counter.forCharge(texts)) }, source: 'counted' };
}
