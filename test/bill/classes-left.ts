import { REASONING_NAMES } from './openai-wire.ts';
import { pictureAndFile } from './attached.ts';
import {
  argumentsText,
  left,
  OPENAI_DIALECTS,
  plainOrClaude,
  type BillClass,
  unreadContent,
  unreadText,
} from './classes.ts';
import { STREAM_STAGES } from './plan.ts';

/** The stages at which the backend has sent its first event. */
const AFTER_INPUT = STREAM_STAGES.filter((stage) => !['before headers', 'at headers'].includes(stage));

/** The stages at which something has piled up behind a client that does not read. */
const AFTER_TEXT = ['in mid text', 'after finish', 'after usage'] as const;

/** Streams whose client leaves at every stage. */
export const LEFT: readonly BillClass[] = [
  left('text', (random) => ({ model: random.pick(['plain', 'uneven', 'claude']) })),
  left('long input', (random) => ({
    model: plainOrClaude(random),
    ask: { prompt: random.prose(random.integer(2_000, 20_000)) },
  })),
  left('tool call', (random) => ({
    model: plainOrClaude(random),
    ask: { withTools: true },
    answer: { kind: 'tool call', text: argumentsText(random) },
  })),
  left('refusal', (random) => ({ model: plainOrClaude(random), answer: { kind: 'refusal' } })),
  left('transcript of audio', () => ({ model: 'plain', answer: { kind: 'transcript' } }), {
    dialects: OPENAI_DIALECTS,
  }),
  left('reasoning that can be read', (random) => ({
    model: plainOrClaude(random),
    answer: {
      reasoning: { name: random.pick(REASONING_NAMES), text: random.prose(random.integer(50, 300)) },
    },
  })),
  left('no usage', () => ({ model: 'plain', answer: { usage: 'none' } })),
  left('no usage, Messages', () => ({ model: 'claude', answer: { usage: 'none' } }), {
    dialects: ['messages'],
  }),
  left('usage in the first event only', () => ({ model: 'plain', answer: { usage: 'early' } }), {
    stages: AFTER_INPUT,
  }),
  left('usage in the first event only, Messages', () => ({ model: 'claude', answer: { usage: 'early' } }), {
    dialects: ['messages'],
    stages: AFTER_INPUT,
  }),
  left('pictures and files', (random) => pictureAndFile(random, ['seer', 'claude-seer'])),
  left('pictures without a declared bound', (random) => pictureAndFile(random, ['plain', 'claude'])),
  left('client stops reading several megabytes', unreadContent, {
    dialects: OPENAI_DIALECTS,
    stages: AFTER_TEXT,
  }),
  left('client stops reading', unreadText, { stages: AFTER_TEXT }),
];
