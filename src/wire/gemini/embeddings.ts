import { z } from 'zod';
import { Fault } from '../../std/fault.ts';
import { fieldRules, memberOf, type FieldRules, isAbsent, withoutAbsent } from '../field-table.ts';
import type { EmbeddingRequest } from '../openai/embeddings.ts';

/** What `embedContent` and `batchEmbedContents` accept (https://ai.google.dev/api/embeddings). */
const contentSchema = z.looseObject({
  parts: z
    .array(z.looseObject({ text: z.string().nullish() }))
    .min(1)
    .max(10_000),
});

const optionFields = {
  outputDimensionality: z.int().min(1).max(100_000).nullish(),
  taskType: z.string().nullish(),
  title: z.string().nullish(),
};

export const embedContentSchema = z.looseObject({ content: contentSchema, ...optionFields });

const MOST_REQUESTS = 2_048;

export const batchEmbedContentsSchema = z.looseObject({
  requests: z.array(embedContentSchema).min(1).max(MOST_REQUESTS),
});

type EmbedContentRequest = z.infer<typeof embedContentSchema>;

export const EMBED_CONTENT_FIELDS: FieldRules = fieldRules({
  // `model` is in the path too. What backends do not have is named below.
  harmless: ['content requests outputDimensionality taskType title model'],
});

interface TranslatedEmbeddings {
  readonly request: EmbeddingRequest;
  /** Fields that no backend gets, for `x-tollgate-dropped`. */
  readonly leftOut: readonly string[];
}

/** Requests of one batch as one in the canonical form, which has one number of dimensions for all of them. */
export function geminiToEmbeddings(
  requests: readonly EmbedContentRequest[],
  model: string,
): TranslatedEmbeddings {
  const [first] = requests;
  const dimensions = first?.outputDimensionality;
  if (requests.some(({ outputDimensionality }) => (outputDimensionality ?? dimensions) !== dimensions))
    throw new Fault('invalid_field', 'outputDimensionality must be the same in all requests.', {
      param: 'requests',
    });
  const options = ['taskType', 'title'] as const;
  return {
    request: { model, input: requests.map(textOf), ...withoutAbsent({ dimensions }) },
    leftOut: options.filter((field) => requests.some((request) => !isAbsent(request[field]))),
  };
}

/** The reference counts texts alone; a part of another kind would be missing from its vector. */
function textOf({ content }: EmbedContentRequest): string {
  const texts = content.parts.map(({ text }) => text);
  if (texts.every((text) => !isAbsent(text))) return texts.join('\n');
  throw new Fault('invalid_field', 'Only texts are embedded here.', { param: 'content.parts' });
}

/** One vector for each request, in their order. */
export function vectorsOf(answer: unknown): { readonly values: readonly number[] }[] {
  const data = memberOf(answer, 'data');
  const entries = Array.isArray(data) ? (data as readonly unknown[]) : [];
  return entries
    .map((entry, place) => ({ place: Number(memberOf(entry, 'index') ?? place), entry }))
    .sort((one, other) => one.place - other.place)
    .map(({ entry }) => ({ values: numbersOf(memberOf(entry, 'embedding')) }));
}

function numbersOf(embedding: unknown): readonly number[] {
  if (Array.isArray(embedding)) return embedding as readonly number[];
  throw new Fault('upstream_error', 'The backend answered without vectors.');
}
