import { PICTURE_ANSWER, WHOLE_ANSWER } from '../../test/providers/model-reply.ts';
import type { AdmittedClient } from './target.ts';

export const FEATURES = [
  'chat',
  'stream',
  'tools',
  'structured',
  'picture',
  'image',
  'embedding',
  'state',
  '401',
  '402',
  '429',
] as const;
export type Feature = (typeof FEATURES)[number];

/** What a client's program prints of one feature, as a line of JSON. */
export interface ClientFact {
  readonly feature: Feature;
  /** What the program got out of the client. */
  readonly said?: string;
  /** How many pieces a stream came in. */
  readonly pieces?: number;
  /** How often the client ran the tool. */
  readonly calls?: number;
  /** The client has no such thing. */
  readonly absent?: true;
  /** The class of the error that was thrown, and its text. */
  readonly error?: string;
  readonly text?: string;
}

/** What is in the table: that it works, that the client has no such thing, or what went wrong. */
export type Verdict =
  | { readonly kind: 'works'; readonly note?: 'error' | 'waits' | 'early' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'fails'; readonly why: string };

const EXPECTED: Partial<Record<Feature, string>> = {
  chat: WHOLE_ANSWER,
  stream: WHOLE_ANSWER,
  tools: WHOLE_ANSWER,
  structured: 'Oslo',
  picture: PICTURE_ANSWER,
  image: 'PNG',
  embedding: '3',
  // The first question, its answer, and the second question.
  state: 'I was told 3 messages.',
};

/** Each of them runs the tool once in the first turn and once in the second. */
const TOOL_RUNS = 2;
/** The token of each refusal, and what the client's error has to let its user see. */
const REFUSALS = {
  '401': { token: 'BAD_TOKEN', words: /invalid_token|authentication|api key|token|401/i },
  '402': { token: 'POOR_TOKEN', words: /payment_required|balance|billing|402/i },
} as const;

export function judgeFact(feature: Feature, fact: ClientFact | undefined, client: AdmittedClient): Verdict {
  if (!fact) return { kind: 'fails', why: 'the program told nothing' };
  if (fact.absent) return { kind: 'absent' };
  if (feature === '429') return judgeWaiting(fact, client);
  if (feature === '401' || feature === '402') return judgeRefusal(feature, fact, client);
  if (fact.error !== undefined) return { kind: 'fails', why: `${fact.error}: ${fact.text ?? ''}` };
  if (fact.said !== EXPECTED[feature]) return { kind: 'fails', why: `it said ${JSON.stringify(fact.said)}` };
  if (feature === 'stream' && (fact.pieces ?? 0) < 2)
    return { kind: 'fails', why: `it came in ${fact.pieces} piece` };
  if (feature === 'tools' && fact.calls !== TOOL_RUNS)
    return { kind: 'fails', why: `the tool ran ${fact.calls} times` };
  return { kind: 'works' };
}

/** What no retry can mend is sent once, and its user is told why. */
function judgeRefusal(feature: '401' | '402', fact: ClientFact, client: AdmittedClient): Verdict {
  const { token, words } = REFUSALS[feature];
  const answers = client.answersTo(client.environment[token] ?? '');
  if (fact.error === undefined) return { kind: 'fails', why: 'no error was thrown' };
  if (answers.length !== 1 || answers[0]?.status !== Number(feature))
    return { kind: 'fails', why: `answers: ${answers.map(({ status }) => status).join(', ')}` };
  if (!words.test(fact.text ?? '')) return { kind: 'fails', why: `${fact.error}: ${fact.text ?? ''}` };
  return { kind: 'works', note: 'error' };
}

/** A client should try again once it has waited for as long as it was told, or leave it to its user. */
function judgeWaiting(fact: ClientFact, client: AdmittedClient): Verdict {
  const answers = client.answersTo(client.environment['BUSY_TOKEN'] ?? '');
  const [first, second] = answers;
  if (first?.status !== 429)
    return { kind: 'fails', why: `answers: ${answers.map(({ status }) => status).join(', ')}` };
  if (!second)
    return fact.error === undefined
      ? { kind: 'fails', why: 'the error was swallowed' }
      : { kind: 'works', note: 'error' };
  if (fact.error !== undefined) return { kind: 'fails', why: `${fact.error}: ${fact.text ?? ''}` };
  const hasWaited = second.atMs - first.atMs >= (first.retryAfterMs ?? 0);
  return { kind: 'works', note: hasWaited ? 'waits' : 'early' };
}
