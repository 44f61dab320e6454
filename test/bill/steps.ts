import type { OpenLine, TokenKind } from './invoice.ts';
import { HALFWAY, LAST, type Answer, type Plan, type Stage } from './plan.ts';
import { piecesOf, tokensOf } from './tokens.ts';

/** One thing that a backend does while it answers: it generates tokens, which are billed, and sends what they say. */
export interface Step {
  readonly tokens: number;
  readonly kind: TokenKind;
  readonly text: string;
  readonly role: 'hidden' | 'reasoning' | 'tool name' | 'answer';
  readonly choice: number;
  /** The answer itself begins here, after any reasoning. */
  readonly begins: boolean;
  /** The stage that is reached once it was sent. */
  readonly stage?: Stage;
}

const HIDDEN_TOKENS_PER_STEP = 500;

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
  if (answer.kind === 'tool call') take({ tokens: tokensOf(TOOL_NAME), kind, text: '', role: 'tool name' });
  for (const { text, tokens, isHalf } of answerPieces(answer.text))
    take({ tokens, kind, text, role: 'answer', ...(isHalf && { stage: 'in mid text' as const }) });
  const { audioTokens = 0 } = answer;
  if (audioTokens > 0) take({ tokens: audioTokens, kind: 'audio_output', text: '', role: 'hidden' });
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

export function bill(line: OpenLine, step: Step): void {
  line.add(step.kind, step.tokens);
}
