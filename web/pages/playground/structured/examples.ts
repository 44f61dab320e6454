import type { ToolDraft } from './answerForm.ts';

/** Schemas to begin from. Every field is required and no other is allowed, as strict backends demand. */
export const SCHEMA_EXAMPLES = {
  contact: pretty({
    title: 'contact',
    type: 'object',
    properties: {
      name: { type: 'string' },
      email: { type: ['string', 'null'] },
      topics: { type: 'array', items: { type: 'string' } },
    },
    required: ['name', 'email', 'topics'],
    additionalProperties: false,
  }),
  review: pretty({
    title: 'review',
    type: 'object',
    properties: {
      sentiment: { type: 'string', enum: ['positive', 'neutral', 'negative'] },
      score: { type: 'integer', enum: [1, 2, 3, 4, 5] },
      summary: { type: 'string' },
    },
    required: ['sentiment', 'score', 'summary'],
    additionalProperties: false,
  }),
} as const;

export const NO_PARAMETERS = pretty({ type: 'object', properties: {} });

export const TOOL_EXAMPLE: ToolDraft = {
  name: 'get_weather',
  description: 'The weather of a city, now.',
  parameters: pretty({
    type: 'object',
    properties: {
      city: { type: 'string' },
      unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
    },
    required: ['city'],
    additionalProperties: false,
  }),
};

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
