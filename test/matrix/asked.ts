import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import type { Feature } from './cases.ts';

export type Json = Record<string, unknown>;

export interface ReadCall {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/** An answer as its client reads it. */
export interface ReadAnswer {
  readonly text: string;
  readonly thought: string;
  readonly calls: readonly ReadCall[];
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'other';
  /** The tokens that it is told to have used; absent where nothing is told. */
  readonly used?: { readonly input: number; readonly output: number } | undefined;
  /** An error event, or no proper end. */
  readonly failed: boolean;
}

export interface MatrixDialect {
  path(model: string, stream: boolean): string;
  request(feature: Feature): Json;
  /** The next turn: the calls of the first with a result for each. */
  withResults(request: Json, calls: readonly ReadCall[]): Json;
  readWhole(answer: Json): ReadAnswer;
  readStream(events: readonly Json[], text: string): ReadAnswer;
}

const PROMPTS: Partial<Record<Feature, string>> = { 'JSON object': 'Name a city, as JSON.' };
export const CAP = 8;
const WORDS = 'Which city is cold?';
export const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const TOOLS = ['get_weather', 'get_time'];
export const ABOUT = 'Tells about a city';
export const PICTURE = `data:image/png;base64,${PIXEL_BASE64}`;

export function toolsFor(feature: Feature): readonly string[] {
  if (feature === 'parallel tools') return TOOLS;
  return feature === 'tools' ? TOOLS.slice(0, 1) : [];
}

export function promptFor(feature: Feature): string {
  return PROMPTS[feature] ?? WORDS;
}
