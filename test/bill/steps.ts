import { TOKEN_ROWS } from '../../src/std/price-dimensions.ts';
import type { OpenLine, TokenKind } from './invoice.ts';
import { HALFWAY, LAST, type Answer, type Plan, type Stage } from './plan.ts';
import { piecesOf, tokensOf } from './tokens.ts';

/** One thing that a backend does while it answers: it generates tokens, which are billed, and sends what they say. */
export interface Step {
  readonly tokens: number;
  readonly kind: TokenKind;
  readonly text: string;
  readonly role: 'hidden' | 'reasoning' | 'search' | 'picture' | 'sound' | 'tool name' | 'answer';
  /** Billed beside its tokens, by the catalog's keys: the cap does not bound it. */
  readonly beside?: Readonly<Record<string, number>>;
  readonly choice: number;
  /** Of a search: how many came before it. */
  readonly number?: number;
  /** The answer itself begins here, after any reasoning. */
  readonly begins: boolean;
  /** The stage that is reached once it was sent. */
  readonly stage?: Stage;
}

const HIDDEN_TOKENS_PER_STEP = 500;
const SOUND_TOKENS_PER_STEP = 5;
/** 50 ms (https://platform.openai.com/docs/guides/realtime-costs) of 16-bit samples, 24,000 a second (…/docs/guides/audio). */
const BYTES_PER_SOUND_TOKEN = 2_400;
/** Of Gemini, up to 1024 × 1024 pixels: https://ai.google.dev/gemini-api/docs/pricing. */
const TOKENS_PER_PICTURE = 1_290;
export const SEARCH_QUERY = JSON.stringify({ query: 'who keeps the gate' });

export const TOOL_NAME = 'look_up';

/** What a backend generates for an answer, token by token; each choice up to the cap. */
export function stepsOf({ answer, ask }: Plan, cap: number): { steps: Step[]; finish: 'stop' | 'length' } {
  const choices = Array.from({ length: ask.choices ?? 1 }, (_, choice) => choiceSteps(answer, cap, choice));
  return { steps: choices.flatMap(({ steps }) => steps), finish: choices[0]?.finish ?? 'stop' };
}

function choiceSteps(
  answer: Answer,
  cap: number,
  choice: number,
): { steps: Step[]; finish: 'stop' | 'length' } {
  const steps: Step[] = [];
  let left = answer.ignoresCap ? Number.POSITIVE_INFINITY : cap;
  let hasBegun = false;
  const take = (step: Omit<Step, 'choice' | 'begins'>): void => {
    const begins = !hasBegun && (step.role === 'answer' || step.role === 'tool name');
    hasBegun ||= begins;
    left -= step.tokens;
    if (left >= 0) steps.push({ ...step, choice, begins });
  };
  for (let hidden = answer.hiddenTokens ?? 0; hidden > 0; hidden -= HIDDEN_TOKENS_PER_STEP)
    take({ tokens: Math.min(hidden, HIDDEN_TOKENS_PER_STEP), kind: 'reasoning', text: '', role: 'hidden' });
  for (const text of answer.reasoning ? piecesOf(answer.reasoning.text) : [])
    take({ tokens: 1, kind: 'reasoning', text, role: 'reasoning' });
  const kind = 'output';
  for (const [used, tokens] of usedOutput(answer)) take({ tokens, kind: used, text: '', role: 'hidden' });
  const { searches = { count: 0, tokensEach: 0 }, spokenTokens = 0, pictures = 0 } = answer;
  for (let search = 0; search < searches.count; search++) {
    const beside = { 'tool_calls.web_search': 1, input: searches.tokensEach };
    take({
      tokens: tokensOf(SEARCH_QUERY),
      kind,
      text: SEARCH_QUERY,
      role: 'search',
      beside,
      number: search,
    });
  }
  for (let picture = 0; picture < pictures; picture++)
    take({ tokens: TOKENS_PER_PICTURE, kind: 'image_output', text: '', role: 'picture' });
  const speak = (tokens: number): void => {
    for (let left = tokens; left > 0; left -= SOUND_TOKENS_PER_STEP)
      take({ tokens: Math.min(left, SOUND_TOKENS_PER_STEP), kind: 'audio_output', text: '', role: 'sound' });
  };
  speak(Math.ceil(spokenTokens / 2));
  if (answer.kind === 'tool call') take({ tokens: tokensOf(TOOL_NAME), kind, text: '', role: 'tool name' });
  for (const { text, tokens, isHalf } of answerPieces(answer.text)) {
    take({ tokens, kind, text, role: 'answer', ...(isHalf && { stage: 'in mid text' as const }) });
    if (isHalf) speak(Math.floor(spokenTokens / 2));
  }
  return { steps, finish: left < 0 ? 'length' : 'stop' };
}

/** Two words come in one piece each, so that a client recognises them; together all pieces are the tokens of the text. */
function answerPieces(text: string): { text: string; tokens: number; isHalf: boolean }[] {
  const pieces = text.split(new RegExp(`(${HALFWAY}|${LAST})`)).flatMap((part) => {
    const isHalf = part === HALFWAY;
    if (isHalf || part === LAST) return [{ text: part, tokens: tokensOf(part), isHalf }];
    return piecesOf(part).map((piece) => ({ text: piece, tokens: 1, isHalf }));
  });
  const difference = tokensOf(text) - pieces.reduce((sum, { tokens }) => sum + tokens, 0);
  return pieces.map((piece) => (piece.isHalf ? { ...piece, tokens: piece.tokens + difference } : piece));
}

function usedOutput({ used = {} }: Answer): [TokenKind, number][] {
  return TOKEN_ROWS.filter(({ side }) => side === 'output').flatMap(({ key }): [TokenKind, number][] => {
    const tokens = used[key];
    return tokens === undefined ? [] : [[key, tokens]];
  });
}

export function bill(line: OpenLine, step: Step): void {
  line.add(step.kind, step.tokens);
  for (const [key, count] of Object.entries(step.beside ?? {})) line.use(key, count);
}

/** Base64 of what the tokens of these steps sound like. */
export function soundOf(steps: readonly Step[]): string {
  const tokens = steps.reduce((sum, step) => sum + step.tokens, 0);
  return Buffer.alloc(tokens * BYTES_PER_SOUND_TOKEN).toString('base64');
}

/** As many bytes as a picture of that many tokens may have. */
export const PICTURE_BASE64 = Buffer.alloc(300_000, 7).toString('base64');
