import { describe, expect, test } from 'bun:test';
import { FAULTS } from '../std/fault.ts';
import type { ChatMessage, ChatRequest } from '../wire/openai/chat.ts';
import { guide } from './guide.ts';
import { GUIDES, anchorOf, sectionsOf } from './guides.ts';

function answerTo(...turns: string[]): string {
  const messages = turns.map((content, index): ChatMessage => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content,
  }));
  return textOf(guide({ model: 'house-guide', messages }));
}

function textOf(reply: ReturnType<typeof guide>): string {
  return reply.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

describe('house-guide', () => {
  test.each([
    ['How do I stream an answer?', '/docs/streaming#', '"stream": true'],
    ['how do i get an api key', '/docs/tokens-and-sign-in#get-an-api-token', 'shown once'],
    ['What does error 402 mean?', '/docs/errors#402-', '`insufficient_balance`'],
    ['what is a hold?', '/docs/money#holds', 'worst case'],
    ['what is funds_on_hold', '/docs/errors#402-', 'Retry-After'],
    ['can I use claude code', '/docs/clients#claude-code-and-the-anthropic-sdk', 'ANTHROPIC_BASE_URL'],
    ['How do I add an OpenAI backend?', '/docs/self-hosting#add-a-backend-the-catalog-file', 'base_url'],
    ['how do I retry without paying twice', '/docs/idempotency', 'Idempotency-Key'],
    ['how do I generate a picture', '/docs/images#', 'house-paint'],
    ['which endpoint codes exist', '/docs/models-and-endpoints#endpoint-codes', 'svcv4_chat'],
    ['can I run several nodes with postgres', '/docs/self-hosting#postgres-and-many-nodes', 'DATABASE_URL'],
    ['what does /slow do in house-echo', '/docs/house-models#house-echo', '/slow MS'],
    ['What is Tollgate?', '/docs/getting-started', 'one API in front of many AI backends'],
  ])('answers "%s" from the right section', (question, path, words) => {
    const text = answerTo(question);
    expect(text).toContain(path);
    expect(text).toContain(words);
  });

  test.each(['What is the capital of France?', 'who won the world cup 2022', 'how do I cook pasta'])(
    'says honestly that it does not know: %s',
    (question) => {
      const text = answerTo(question);
      expect(text).toStartWith('I could not find that');
      expect(text).toContain('/docs/money');
    },
  );

  test('says once per conversation that it is not a neural model', () => {
    const first = answerTo('what is a hold?');
    expect(first).toContain('not a neural model');
    expect(answerTo('what is a hold?', first, 'and what is a receipt?')).not.toContain('not a neural model');
  });

  test('a follow-up is understood from the question before it', () => {
    const first = answerTo('How do I stream an answer?');
    expect(answerTo('How do I stream an answer?', first, 'and how do I stop it?')).toContain(
      '/docs/streaming#stop-a-stream-early',
    );
  });

  test('a request for more does not quote the same section again', () => {
    const first = answerTo('how do images work');
    const heading = /^### (.+)$/m.exec(first)?.[1] ?? '';
    const second = answerTo('how do images work', first, 'tell me more');
    expect(second).toContain('/docs/images');
    expect(/^### (.+)$/m.exec(second)?.[1]).not.toBe(heading);
  });

  test('greets, and says what it can answer', () => {
    expect(answerTo('Hello!')).toContain('Ask me anything about Tollgate');
    expect(answerTo('')).toContain('/docs/errors');
  });

  test('refuses a forced tool and a JSON schema with a message for the client', () => {
    const base: ChatRequest = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
    expect(() => guide({ ...base, tool_choice: 'required' })).toThrow('does not call tools');
    expect(() =>
      guide({ ...base, response_format: { type: 'json_schema', json_schema: { schema: {} } } }),
    ).toThrow('JSON schemas');
    expect(JSON.parse(textOf(guide({ ...base, response_format: { type: 'json_object' } })))).toHaveProperty(
      'answer',
    );
  });

  test('only part of a very long question is read', () => {
    expect(answerTo(`${'lorem ipsum '.repeat(200_000)} what is a hold?`)).toBeString();
  });
});

describe('the guides', () => {
  const headings = new Map(
    GUIDES.map((guide) => [guide.slug, new Set(sectionsOf(guide).map(({ heading }) => anchorOf(heading)))]),
  );

  test('explain every code that the API can answer with', () => {
    const errors = GUIDES.find(({ slug }) => slug === 'errors')?.text ?? '';
    for (const code of Object.keys(FAULTS)) expect(errors).toContain(`\`${code}\``);
  });

  test('every link between guides has a target', () => {
    for (const { text } of GUIDES) {
      for (const [, slug = '', anchor] of text.matchAll(/\]\(\/docs\/([\w-]+)(?:#([\w-]+))?\)/g)) {
        // The reference is made from the OpenAPI document.
        if (slug === 'reference') continue;
        expect(headings.has(slug)).toBe(true);
        if (anchor !== undefined) expect(headings.get(slug)?.has(anchor)).toBe(true);
      }
    }
  });

  test('stay short, begin with a title, and close their code blocks', () => {
    for (const { text, title, slug } of GUIDES) {
      expect(text).toStartWith(`# ${title}\n`);
      expect({ slug, short: text.split('\n').length <= 121 }).toEqual({ slug, short: true });
      expect((text.match(/^```/gm) ?? []).length % 2).toBe(0);
    }
  });
});
