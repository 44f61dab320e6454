import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import questions from '../../docs/guide/questions.json' with { type: 'json' };
import { Gateway, type TestAccount } from '../support/gateway.ts';

/** What a right answer says, and where it is from. A question without a line here fails. */
const FACTS: Record<string, { readonly from: string; readonly says: readonly string[] }> = {
  'What is a hold, and when is it released?': {
    from: '/docs/money#holds',
    says: ['worst case', 'When the request ends, the hold is released immediately'],
  },
  'How do I make my first call?': {
    from: '/docs/getting-started#make-your-first-call',
    says: ['/api/public/v1/chat/completions', '"model": "house-guide"', 'Authorization: Bearer'],
  },
  'Which header carries the token?': {
    from: '/docs/tokens-and-sign-in#send-the-token',
    says: ['The `Authorization` header carries the token', 'Bearer'],
  },
  'How do I stream an answer?': { from: '/docs/streaming#', says: ['"stream": true'] },
  'How am I charged for a stream that I cancel?': {
    from: '/docs/streaming#stop-a-stream-early',
    says: ['You are charged for a cancelled stream up to that point'],
  },
  'How do I generate an image?': {
    from: '/docs/images#generate-an-image',
    says: ['/api/public/v1/images/generations', '"prompt"'],
  },
  'What happens when my balance runs out?': {
    from: '/docs/money#when-the-balance-runs-out',
    says: ['402', '`insufficient_balance`', 'Add funds'],
  },
  'What are the rate limits?': {
    from: '/docs/limits-and-headers#rate-limits',
    says: ['| chat requests per minute | 600 |', '| image requests per minute | 60 |'],
  },
  'How does Idempotency-Key work?': {
    from: '/docs/idempotency#send-a-request-safely',
    says: ['Idempotency-Key: ', 'Nothing more is charged'],
  },
  'How do I replace a token?': {
    from: '/docs/tokens-and-sign-in#replace-or-revoke-a-token',
    says: ['press **Replace**', 'the old token is refused'],
  },
};

/** The same questions in other words. */
const REWORDED: readonly (readonly [question: string, asSuggested: string])[] = [
  ['when is a hold released', 'What is a hold, and when is it released?'],
  ['how do I send my first request?', 'How do I make my first call?'],
  ["what's the first call I should make", 'How do I make my first call?'],
  ['what header do I use for the api key', 'Which header carries the token?'],
  ['where do I put my token?', 'Which header carries the token?'],
  ['how do I enable streaming', 'How do I stream an answer?'],
  ['how can I get streaming responses?', 'How do I stream an answer?'],
  ['do I pay for a cancelled stream?', 'How am I charged for a stream that I cancel?'],
  ['am I billed if I abort a streaming response', 'How am I charged for a stream that I cancel?'],
  ['how do I create a picture', 'How do I generate an image?'],
  ['what happens if I run out of money', 'What happens when my balance runs out?'],
  ['my balance is empty, what now?', 'What happens when my balance runs out?'],
  ['how many requests per minute can I send', 'What are the rate limits?'],
  ['how fast can I send requests?', 'What are the rate limits?'],
  ['can I send the same request twice', 'How does Idempotency-Key work?'],
  ['my token leaked, what should I do?', 'How do I replace a token?'],
  ['how do I regenerate my api key', 'How do I replace a token?'],
];

let gateway: Gateway;
let customer: TestAccount;

beforeAll(async () => {
  gateway = await Gateway.start();
  customer = await gateway.account('1');
});

afterAll(async () => {
  await gateway.stop();
});

async function answerTo(question: string): Promise<string> {
  const response = await gateway.chat(customer.token, {
    model: 'house-guide',
    messages: [{ role: 'user', content: question }],
  });
  const body = (await response.json()) as { choices: { message: { content: string } }[] };
  return body.choices[0]?.message.content ?? '';
}

/** The section that is quoted first is the answer; a second one may follow. */
function expectAnswer(text: string, asSuggested: string): void {
  const facts = FACTS[asSuggested];
  const [first = ''] = /\*From the guide\* \[[^\]]+\]\([^)]+\)/.exec(text) ?? [];
  expect(text).not.toContain('I could not find that');
  expect(text).not.toContain('I am not sure');
  expect(first).toContain(facts?.from ?? 'a section named in the list above');
  for (const words of facts?.says ?? []) expect(text).toContain(words);
}

describe('house-guide', () => {
  test('suggests ten questions', () => {
    expect(new Set(questions).size).toBe(10);
  });

  test.each(questions)('answers its suggestions: %s', async (question) => {
    expectAnswer(await answerTo(question), question);
  });

  test.each(REWORDED)('understands it in other words: %s', async (question, asSuggested) => {
    expectAnswer(await answerTo(question), asSuggested);
  });

  test('suggests these questions if it does not know the answer', async () => {
    const text = await answerTo('What is the capital of France?');
    for (const question of questions) expect(text).toContain(`- ${question}`);
  });
});
