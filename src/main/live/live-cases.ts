import type { LiveCaseName } from '../../cli/command.ts';
import type { ChatRequest } from '../../wire/openai/chat.ts';
import type { LiveAnswer } from './live-answer.ts';

/** A small chat request, and what its answer must contain; `problem` returns `undefined` if it does. */
export interface LiveChatCase {
  readonly name: Exclude<LiveCaseName, 'image out'>;
  /** What a model must be able to do, by its entry in the catalog. */
  readonly needs?: 'tools' | 'vision';
  readonly request: Pick<ChatRequest, 'messages' | 'tools' | 'stream'> & Readonly<Record<string, unknown>>;
  /** Input tokens that a provider may add: descriptions of tools, a schema. */
  readonly addedTokens: number;
  problem(answer: LiveAnswer): string | undefined;
}

const said = (content: string) => [{ role: 'user' as const, content }];

/** Sixteen pixels square and red: a picture that every model can take. */
const RED_SQUARE =
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mP4z8BAEmIY1TCqYfhqAACQ+f8B8u7oVwAAAABJRU5ErkJggg==';

const CITY_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

export const CHAT_CASES: readonly LiveChatCase[] = [
  {
    name: 'chat',
    request: { messages: said('Say hello in one word.') },
    addedTokens: 64,
    problem: ({ text }) => (text === '' ? 'the answer has no text' : undefined),
  },
  {
    name: 'stream',
    request: { messages: said('Say hello in one word.'), stream: true },
    addedTokens: 64,
    problem: ({ text, events }) => {
      if (events === 0) return 'the answer was no stream';
      return text === '' ? 'the stream has no text' : undefined;
    },
  },
  {
    name: 'tools',
    needs: 'tools',
    request: {
      messages: said('What is the weather in Oslo? Use the tool.'),
      tools: [
        {
          type: 'function',
          function: { name: 'weather', description: 'The weather of a city.', parameters: CITY_SCHEMA },
        },
      ],
    },
    addedTokens: 1_024,
    problem: ({ toolCalls: [call] }) => {
      if (!call) return 'the model called no tool';
      if (call.name !== 'weather') return `the model called '${call.name}', which it was not given`;
      return hasCity(call.arguments) ? undefined : 'the arguments are not what the tool asks for';
    },
  },
  {
    name: 'json schema',
    request: {
      messages: said('Which city is the capital of Norway? Answer in JSON.'),
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'capital', strict: true, schema: CITY_SCHEMA },
      },
    },
    addedTokens: 512,
    problem: ({ text }) => (hasCity(text) ? undefined : 'the answer does not follow the schema'),
  },
  {
    name: 'image in',
    needs: 'vision',
    request: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Which colour is this? One word.' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${RED_SQUARE}` } },
          ],
        },
      ],
    },
    addedTokens: 64,
    problem: ({ text }) => (text === '' ? 'the answer has no text' : undefined),
  },
];

export const IMAGE_PROMPT = 'A red square on white.';

function hasCity(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && 'city' in value && typeof value.city === 'string';
  } catch {
    // Text that is no JSON does not follow a schema.
    return false;
  }
}
