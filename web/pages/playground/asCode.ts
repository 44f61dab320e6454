import type { PlaygroundChatBody } from '../../../src/console/contract.ts';
import { curlCommand } from '../requests/curl.ts';

export const DIALECTS = { curl: 'curl', python: 'Python', javascript: 'JavaScript' } as const;
export type Dialect = keyof typeof DIALECTS;

/** The same request for a terminal or a program, with the token left to the environment. */
export function asCode(dialect: Dialect, origin: string, body: PlaygroundChatBody): string {
  if (dialect === 'curl')
    return curlCommand(`${origin}/api/public/v1/chat/completions`, body, '$TOLLGATE_TOKEN');
  const { endpoint, model, ...rest } = body;
  const named = { model: `${endpoint}/${model}`, ...rest };
  return dialect === 'python' ? python(origin, named) : javascript(origin, named);
}

function python(origin: string, body: Record<string, unknown>): string {
  const fields = Object.entries(body).map(([key, value]) => `    ${key}=${indent(pythonLiteral(value), 4)},`);
  return `import os
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=os.environ["TOLLGATE_TOKEN"])
answer = client.chat.completions.create(
${fields.join('\n')}
)
print(answer.choices[0].message.content)`;
}

function javascript(origin: string, body: Record<string, unknown>): string {
  return `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.TOLLGATE_TOKEN });
const answer = await client.chat.completions.create(${JSON.stringify(body, null, 2)});
console.log(answer.choices[0].message.content);`;
}

/** JSON is Python but for three words, none of which a request of the playground contains outside of strings. */
function pythonLiteral(value: unknown): string {
  return JSON.stringify(value, null, 4);
}

function indent(text: string, by: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(by)}`);
}
