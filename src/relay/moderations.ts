import { priceFor } from '../catalog/catalog.ts';
import { NO_USAGE } from '../ledger/price.ts';
import type { JsonText } from '../std/json-parse.ts';
import { UpstreamFailure } from '../upstream/port.ts';
import { withModel } from '../wire/openai/answer.ts';
import { moderatedTexts, type ModerationRequest } from '../wire/openai/moderations.ts';
import { routeOf } from './admission.ts';
import type { AdmissionSummary, Call, Quote, RelayParts } from './call.ts';
import { RequestCounter } from './input/request-counter.ts';
import { knobsFor } from './knobs.ts';
import { relay, type Operation } from './relay.ts';

interface ModerationReply {
  readonly summary: AdmissionSummary;
  readonly text: string;
}

type ModerationCall = Call<ModerationRequest>;

/** Whether texts and pictures are harmful, as the backend judges. Its models are free, so that the hold is zero. */
export function relayModeration(call: ModerationCall, parts: RelayParts): Promise<ModerationReply> {
  return relay(MODERATIONS, call, parts);
}

const MODERATIONS: Operation<ModerationCall, Quote, JsonText, ModerationReply> = {
  quote: quoteModeration,
  isStreamed: () => false,
  async callUpstream({ call, quote, parts }, upstream, attempt) {
    if (!upstream.moderate)
      throw new UpstreamFailure('rejected', 'no moderation', {
        publicMessage: 'This backend has no moderation.',
      });
    const { knobs, request: asked } = call;
    const request = knobs ? knobsFor(asked, knobs, { quote, upstream: upstream.name, parts }) : asked;
    return await upstream.moderate({ ...attempt, request, requestId: call.requestId });
  },
  async deliver({ call, quote, summary, hold, served, parts }) {
    const counter = new RequestCounter(parts, quote.route.model, call.caller);
    const input = await counter.forCharge(moderatedTexts(call.request));
    await hold.settle({
      ...served,
      outcome: call.connection.hasLeft ? 'client_left' : 'completed',
      measured: { usage: { ...NO_USAGE, input }, source: 'counted' },
    });
    return { summary, text: withModel(served.answer, call.label) };
  },
};

/** No tokenizer makes more than one token of a byte. */
function quoteModeration(call: ModerationCall, parts: RelayParts): Quote {
  const route = routeOf(call, parts);
  const ceiling = { kind: 'tokens' as const, input: call.size.bytes, output: 0, choices: 1 };
  return { route, ceiling, price: priceFor(route.model) };
}
