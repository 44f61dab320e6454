import { ROWS, TOKEN_ROWS } from '../../src/std/price-dimensions.ts';
import type { Fields } from '../providers/stand-in.ts';
import type { OpenLine } from './invoice.ts';
import type { Plan } from './plan.ts';
import { tokensOf } from './tokens.ts';

/**
 * OpenAI's published rule for chats (cookbook, "How to count tokens with tiktoken"): three tokens around each message,
 * its texts and its role, and three with which the answer begins. Tools are counted as their JSON.
 */
const AROUND_MESSAGE = 3;
const BEFORE_ANSWER = 3;
/** A list of tokens begins with one that names the plan. */
export const FIRST_PLAN_TOKEN = 1_000_000;

/** What the backend bills for the input, split as its caches have it. */
export function countInput(line: OpenLine, body: Fields, plan: Plan): void {
  const { attachments = [] } = plan.ask;
  const { inputPercents = {}, used = {} } = plan.answer;
  if (body['input'] === undefined && body['messages'] === undefined) return;
  let input = body['messages'] === undefined ? embeddedTokens(body['input']) : conversationTokens(body);
  for (const { tokens, billedAs } of attachments) {
    if (billedAs === undefined) input += tokens;
    else line.add(billedAs, tokens);
  }
  let plain = input;
  for (const { key } of TOKEN_ROWS) {
    const tokens = Math.floor((input * (inputPercents[key] ?? 0)) / 100);
    line.add(key, tokens);
    plain -= tokens;
  }
  line.add('input', plain);
  for (const { key, unit } of ROWS) if (unit === 'each' && used[key] !== undefined) line.use(key, used[key]);
}

function conversationTokens(body: Fields): number {
  const system = body['system'] === undefined ? 0 : AROUND_MESSAGE + 1 + textTokens(body['system']);
  const tools = body['tools'] === undefined ? 0 : tokensOf(JSON.stringify(body['tools']));
  const messages = body['messages'] as readonly { readonly role: string; readonly content?: unknown }[];
  return messages.reduce(
    (sum, { role, content }) => sum + AROUND_MESSAGE + tokensOf(role) + textTokens(content),
    system + tools + BEFORE_ANSWER,
  );
}

function textTokens(content: unknown): number {
  if (typeof content === 'string') return tokensOf(content);
  if (!Array.isArray(content)) return 0;
  return (content as { text?: unknown }[]).reduce(
    (sum, part) => sum + (typeof part.text === 'string' ? tokensOf(part.text) : 0),
    0,
  );
}

function embeddedTokens(input: unknown): number {
  const items = (Array.isArray(input) ? input.flat() : [input]) as unknown[];
  return items.reduce<number>((sum, item) => sum + (typeof item === 'string' ? tokensOf(item) : 1), 0);
}

/** The plan that a request belongs to: its name stands in the text, or is the first of a list of tokens. */
export function planIn(body: Fields): number {
  const { input } = body;
  const [first] = Array.isArray(input) ? (input as unknown[]) : [];
  if (typeof first === 'number') return first - FIRST_PLAN_TOKEN;
  const found = /bill-(\d+):/.exec(JSON.stringify([body['messages'], input, body['prompt']]));
  return Number(found?.[1] ?? -1);
}
