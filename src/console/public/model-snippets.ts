import type { ModelItem } from '../contract.ts';

export interface ModelSnippet {
  readonly name: string;
  readonly code: string;
}

/** How to call a model in three languages. Names come from the catalog, so each is written as a literal of its language. */
export function modelSnippets(offer: ModelItem, origin: string): readonly ModelSnippet[] {
  const call = CALLS[offer.type];
  const model = JSON.stringify(`${offer.endpoint}/${offer.model}`);
  const base = JSON.stringify(`${origin}/v1`);
  const body = call.body.map((line) => line.replace('MODEL', () => model));
  return [
    {
      name: 'curl',
      code: `curl ${shellWord(`${origin}/v1/${call.path}`)} \\
  -H "Authorization: Bearer $TOLLGATE_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d ${shellWord(`{\n    ${body.join(',\n    ')}\n  }`)}`,
    },
    {
      name: 'JavaScript',
      code: `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: ${base},
  apiKey: process.env.TOLLGATE_TOKEN,
});

const answer = await client.${call.method}({
  ${body.map((line) => line.replace(/^"(\w+)"/, '$1')).join(',\n  ')},
});
console.log(${call.javascript});`,
    },
    {
      name: 'Python',
      code: `import os
from openai import OpenAI

client = OpenAI(base_url=${base}, api_key=os.environ["TOLLGATE_TOKEN"])

answer = client.${call.method}(
    ${body.map((line) => line.replace(/^"(\w+)": /, '$1=')).join(',\n    ')},
)
print(${call.python})`,
    },
  ];
}

interface SnippetCall {
  readonly path: string;
  readonly method: string;
  readonly body: readonly string[];
  readonly javascript: string;
  readonly python: string;
}

const CALLS: Record<ModelItem['type'], SnippetCall> = {
  chat_completion: {
    path: 'chat/completions',
    method: 'chat.completions.create',
    body: ['"model": MODEL', '"messages": [{ "role": "user", "content": "Hello!" }]'],
    javascript: 'answer.choices[0].message.content',
    python: 'answer.choices[0].message.content',
  },
  image_generation: {
    path: 'images/generations',
    method: 'images.generate',
    body: ['"model": MODEL', '"prompt": "a toll gate at dawn"'],
    javascript: 'answer.data[0].url',
    python: 'answer.data[0].url',
  },
  embedding: {
    path: 'embeddings',
    method: 'embeddings.create',
    body: ['"model": MODEL', '"input": "Hello!"'],
    javascript: 'answer.data[0].embedding.length',
    python: 'len(answer.data[0].embedding)',
  },
};

/** One word of a shell, whatever is in it. */
function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
