import type { GoldenCase } from '../case.ts';
import { backendCases } from './backends.ts';
import { chatCases } from './chat.ts';
import { failureCases } from './failures.ts';
import { geminiCases } from './gemini.ts';
import { otherCases } from './other.ts';
import { refusalCases } from './refusals.ts';
import { textCompletionCases } from './text-completions.ts';

export const CASES: readonly GoldenCase[] = [
  ...chatCases(),
  ...(await backendCases()),
  ...refusalCases(),
  ...otherCases(),
  ...failureCases(),
  ...textCompletionCases(),
  ...geminiCases(),
];
