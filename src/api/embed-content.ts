import { z } from 'zod';
import type { IncomingRequest } from '../http/router.ts';
import { parseBody, selectFields } from '../http/request-body.ts';
import { paidAnswer } from '../http/response.ts';
import type { Caller } from '../ledger/port.ts';
import { preferTokenError } from '../relay/admission.ts';
import { relayEmbeddings } from '../relay/embeddings.ts';
import { joinKnobs } from '../wire/field-table.ts';
import {
  batchEmbedContentsSchema,
  EMBED_CONTENT_FIELDS,
  embedContentSchema,
  geminiToEmbeddings,
  vectorsOf,
} from '../wire/gemini/embeddings.ts';
import { inReferenceSpelling } from '../wire/gemini/request.ts';
import { GOOGLE_ERRORS, INFERENCE_ERRORS } from './errors.ts';
import { GEMINI_MODEL } from './generate-content.ts';
import { callOf, MAX_COST_FIELD, routeSelector, work } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const vector = z.object({ values: z.array(z.number()) });
const CONTENT = { parts: [{ text: 'What is a hold?' }] };
const VECTOR = { values: [0.0023, -0.0093, 0.0151] };

const SHARED = {
  method: 'POST',
  tag: 'Gemini-compatible',
  token: 'required',
  parameters: [{ ...GEMINI_MODEL, example: 'svc_embed/text-embedding-3-small' }],
  errors: INFERENCE_ERRORS,
  dialect: GOOGLE_ERRORS,
} as const;

export const embedContent: ApiOperation = {
  ...SHARED,
  id: 'v1betaEmbedContent',
  path: '/v1beta/models/{model}:embedContent',
  summary: 'Embed a text (Gemini)',
  description: 'taskType and title are left out and named in x-tollgate-dropped.',
  request: {
    name: 'EmbedContentRequest',
    schema: embedContentSchema.extend(MAX_COST_FIELD),
    examples: { simple: { content: CONTENT } },
  },
  answer: {
    description: 'The vector',
    headers: 'paid',
    body: {
      name: 'EmbedContentAnswer',
      schema: z.object({ embedding: vector }),
      examples: { example: { embedding: VECTOR } },
    },
  },
  handle: work((incoming, caller, parts) =>
    embed(
      { incoming, caller, parts },
      (body) => [parseBody(embedContentSchema, body)],
      ([embedding]) => ({
        embedding,
      }),
    ),
  ),
};

export const batchEmbedContents: ApiOperation = {
  ...SHARED,
  id: 'v1betaBatchEmbedContents',
  path: '/v1beta/models/{model}:batchEmbedContents',
  summary: 'Embed several texts (Gemini)',
  description:
    'One request to the backend: outputDimensionality must be the same for all. taskType and title are left out and named in x-tollgate-dropped.',
  request: {
    name: 'BatchEmbedContentsRequest',
    schema: batchEmbedContentsSchema.extend(MAX_COST_FIELD),
    examples: { simple: { requests: [{ content: CONTENT }, { content: CONTENT }] } },
  },
  answer: {
    description: 'One vector for each text',
    headers: 'paid',
    body: {
      name: 'BatchEmbedContentsAnswer',
      schema: z.object({ embeddings: z.array(vector) }),
      examples: { example: { embeddings: [VECTOR, VECTOR] } },
    },
  },
  handle: work((incoming, caller, parts) =>
    embed(
      { incoming, caller, parts },
      (body) => parseBody(batchEmbedContentsSchema, body).requests,
      (embeddings) => ({ embeddings }),
    ),
  ),
};

interface Asked {
  readonly incoming: IncomingRequest;
  readonly caller: Caller;
  readonly parts: ApiParts;
}

async function embed(
  { incoming, caller, parts }: Asked,
  read: (body: unknown) => Parameters<typeof geminiToEmbeddings>[0],
  show: (vectors: ReturnType<typeof vectorsOf>) => unknown,
): Promise<Response> {
  const { relay } = parts;
  const name = incoming.parameters[0] ?? '';
  const call = await preferTokenError({ caller, rate: 'chat' }, relay, async () => {
    const body = await incoming.body.json();
    const base = callOf(incoming, caller, body);
    // Respelling the keys of an object gives an object.
    const spelled = inReferenceSpelling(body.value) as Record<string, unknown>;
    const { body: fields, knobs } = selectFields(spelled, EMBED_CONTENT_FIELDS);
    const { request, leftOut } = geminiToEmbeddings(read(fields), name);
    return {
      ...base,
      selector: routeSelector(parts, base, name, 'embedding'),
      label: name,
      request,
      knobs: joinKnobs(knobs, { leftOut }),
      cap: 'lowered' as const,
    };
  });
  const { text, summary, charged } = await relayEmbeddings(call, relay);
  return paidAnswer(show(vectorsOf(JSON.parse(text))), summary, charged);
}
