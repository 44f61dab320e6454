import { z } from 'zod';
import type { Catalog } from '../catalog/catalog.ts';
import type { IncomingRequest } from '../http/router.ts';
import { parseBody, selectFields } from '../http/request-body.ts';
import { paidAnswer } from '../http/response.ts';
import type { Caller } from '../ledger/port.ts';
import { preferTokenError } from '../relay/admission.ts';
import { relayModeration } from '../relay/moderations.ts';
import { Fault } from '../std/fault.ts';
import { nanoUsd } from '../std/money.ts';
import {
  MODERATION_FIELDS,
  moderationRequestSchema,
  type ModerationRequest,
} from '../wire/openai/moderations.ts';
import { INFERENCE_ERRORS, OPENAI_ERRORS } from './errors.ts';
import { callOf, routeSelector, work } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const judgement = z.looseObject({
  flagged: z.boolean().describe('Whether any category applies'),
  categories: z.record(z.string(), z.boolean()).describe('Which categories apply'),
  category_scores: z.record(z.string(), z.number()).describe('How sure the model is of each, from 0 to 1'),
});

export const moderations: ApiOperation = {
  id: 'v1CreateModeration',
  method: 'POST',
  path: '/v1/moderations',
  tag: 'OpenAI-compatible',
  summary: 'Judge whether texts and images are harmful (OpenAI)',
  description:
    'Free of charge; it counts for the rate limit and has a receipt. Without model, the first moderation model of the catalog judges.',
  token: 'required',
  request: {
    name: 'ModerationRequest',
    schema: moderationRequestSchema,
    examples: {
      simple: { input: 'I want to build a gate.' },
      picture: {
        model: 'svc_moderation/omni-moderation-latest',
        input: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
      },
    },
  },
  answer: {
    description: 'One judgement for each text, or one for all parts together, as the backend gave them',
    headers: 'paid',
    body: {
      name: 'ModerationAnswer',
      schema: z.looseObject({
        id: z.string(),
        model: z.string(),
        results: z.array(judgement).describe('The judgements, in the order of the inputs'),
      }),
      examples: {
        example: {
          id: 'modr-0d9740456c391e43c445bf0f010940c7',
          model: 'svc_moderation/omni-moderation-latest',
          results: [
            { flagged: false, categories: { violence: false }, category_scores: { violence: 0.0001 } },
          ],
        },
      },
    },
  },
  errors: [...INFERENCE_ERRORS, 'not_supported'],
  dialect: OPENAI_ERRORS,
  handle: work(moderate),
};

async function moderate(incoming: IncomingRequest, caller: Caller, parts: ApiParts): Promise<Response> {
  const { relay } = parts;
  const call = await preferTokenError({ caller, rate: 'chat' }, relay, async () => {
    const body = await incoming.body.json();
    const base = callOf(incoming, caller, body);
    const { body: fields, knobs } = selectFields(body.value, MODERATION_FIELDS);
    const request = parseBody(moderationRequestSchema, fields) as ModerationRequest;
    // Looked for in any case: where there is none, a name that is given would only be unknown.
    const usual = usualModel(relay.catalog());
    const name = request.model ?? usual;
    return {
      ...base,
      selector: routeSelector(parts, base, name, 'moderation'),
      label: name,
      request,
      knobs,
      cap: 'lowered' as const,
    };
  });
  const { text, summary } = await relayModeration(call, relay);
  return paidAnswer(text, summary, nanoUsd(0));
}

/** Clients need not name one. */
function usualModel({ endpoints }: Catalog): string {
  const served = [...endpoints.values()].find(
    ({ type, unavailable, models }) =>
      type === 'moderation' && unavailable === undefined && models.length > 0,
  );
  if (served) return `${served.code}/${served.models[0]?.id}`;
  throw new Fault(
    'not_supported',
    'Moderation is not set up on this server. Leave it out, or ask a chat model to judge.',
  );
}
