import { z } from 'zod';
import { fieldRules, type FieldRules } from '../field-table.ts';

const part = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string().min(1) }) }),
]);

const MOST_INPUTS = 2_048;

/** https://developers.openai.com/api/reference/resources/moderations */
export const moderationRequestSchema = z.looseObject({
  model: z.string().min(1).max(256).nullish(),
  input: z.union([
    z.string().min(1),
    z.array(z.string()).min(1).max(MOST_INPUTS),
    z.array(part).min(1).max(MOST_INPUTS),
  ]),
});

type Parsed = z.infer<typeof moderationRequestSchema>;

/** After parsing, a field that was null is absent. */
export type ModerationRequest = { [K in keyof Parsed]: Exclude<Parsed[K], null> };

export const MODERATION_FIELDS: FieldRules = fieldRules({ harmless: ['model input'] });

/** Its texts; pictures are not counted. */
export function moderatedTexts({ input }: ModerationRequest): string[] {
  if (typeof input === 'string') return [input];
  return input.flatMap((one) => (typeof one === 'string' ? [one] : one.type === 'text' ? [one.text] : []));
}
