import type { AnswerRules } from '../std/json-answer.ts';
import { JSON_LIMITS } from '../std/json-scan.ts';
import { UpstreamFailure } from './port.ts';

const MEGABYTE = 1_048_576;

export function brokenAnswer(why: string, cause?: unknown): UpstreamFailure {
  return new UpstreamFailure('protocol', `the answer ${why}`, { cause });
}

/** The limits of every answer: a backend that exceeds them has not answered. */
export const ANSWER: AnswerRules = {
  /** Larger than any chat answer, because of images in base64. */
  maxBytes: 64 * MEGABYTE,
  limits: {
    ...JSON_LIMITS,
    values: 1_000_000,
    /** Probabilities of twenty alternatives for each of four thousand tokens. */
    structure: 500_000,
    bytesOutsideStrings: 16 * MEGABYTE,
    escapes: 1_000_000,
  },
  broken: brokenAnswer,
};

export const CHAT_ANSWER: AnswerRules = { ...ANSWER, decoding: 'strict' };

/** Vectors of three thousand numbers for two thousand inputs, in as many objects. */
export const EMBEDDINGS_ANSWER: AnswerRules = {
  ...ANSWER,
  limits: { ...JSON_LIMITS, values: 8_000_000, escapes: 1_000_000 },
};

/** OpenRouter's list of all its models has about one megabyte. */
export const MODEL_LIST: AnswerRules = { ...ANSWER, maxBytes: 32 * MEGABYTE };
export const LOCAL_MODEL_LIST: AnswerRules = { ...ANSWER, maxBytes: MEGABYTE };

export const TOKEN_COUNT: AnswerRules = { ...ANSWER, maxBytes: 65_536 };
export const ERROR_ANSWER: AnswerRules = { ...ANSWER, maxBytes: 65_536 };
export const IMAGE_FILE: AnswerRules = { ...ANSWER, maxBytes: 20 * MEGABYTE };
