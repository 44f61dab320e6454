import { finished, OPENAI_DIALECTS, type BillClass } from './classes.ts';
import { SPOKEN } from './dimensions.ts';

/** Prices that depend on more than how much was used. */
export const PRICED: readonly BillClass[] = [
  finished('dearer above a context length', (random) => ({
    model: 'tiered',
    ask: { prompt: random.prose(random.integer(200, 1_500)) },
  })),
  // A token of sound has three times as many bytes as one of text can have with all the JSON around it.
  finished(
    'speech nearly as long as its cap',
    () => ({
      model: 'sells-audio_output',
      ask: { prompt: 'Speak.', maxTokens: 1_200, more: SPOKEN },
      answer: { kind: 'transcript', spokenTokens: 800 },
    }),
    { dialects: OPENAI_DIALECTS },
  ),
  finished(
    'images by size and quality',
    (random) => ({
      model: 'fine-painter',
      ask: {
        images: {
          count: random.integer(1, 4),
          size: random.pick(['1024x1024', '1536x1024']),
          quality: random.pick(['low', 'medium', 'high']),
        },
      },
    }),
    { dialects: ['public images', 'v1 images'], forms: ['whole'], stages: ['never', 'before headers'] },
  ),
];
