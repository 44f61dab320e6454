import { z } from 'zod';

export const embeddingRequestSchema = z.looseObject({
  model: z.string().min(1).max(256),
  input: z.union([
    z.string().min(1),
    z.array(z.string()).min(1).max(2_048),
    z.array(z.number().int().min(0)).min(1).max(1_000_000),
    z
      .array(z.array(z.number().int().min(0)).min(1))
      .min(1)
      .max(2_048),
  ]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.number().int().min(1).max(100_000).nullish(),
  user: z.string().max(512).nullish(),
});

type Parsed = z.infer<typeof embeddingRequestSchema>;

/** After parsing, a field that was null is absent. */
export type EmbeddingRequest = { [K in keyof Parsed]: Exclude<Parsed[K], null> };
