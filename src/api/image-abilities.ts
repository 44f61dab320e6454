import { z } from 'zod';

const values = z.array(z.string()).nullable();
const isTaken = z.boolean().nullable();

/** What an image model takes; `null`: its backend decides. */
export const abilitiesBody = z
  .object({
    sizes: z.array(z.string()).describe('The first is the default'),
    size_range: z
      .object({
        step: z.int(),
        min_edge: z.int(),
        max_edge: z.int(),
        max_ratio: z.number(),
        min_pixels: z.int(),
        max_pixels: z.int(),
      })
      .nullable()
      .describe('Further sizes'),
    shapes: z
      .array(
        z.object({
          size: z.string(),
          aspect_ratio: z.string().nullable(),
          resolution: z.string().nullable(),
        }),
      )
      .describe('The size that an aspect_ratio, a resolution, or both together stand for'),
    max_n: z.int(),
    quality: values,
    background: values,
    output_format: values,
    output_compression: isTaken,
    moderation: values,
    style: values,
    seed: isTaken,
    negative_prompt: isTaken,
    reference_images: z.int().nullable().describe('The most pictures of an edit'),
    mask: isTaken,
    partial_images: z.int().nullable().describe('The most that a stream shows of each image'),
  })
  .describe('Image models only: what a request may ask for. null: the backend decides');
