import type { PlaygroundChatBody } from '../../lib/answers.ts';
import { curlCommand } from '../requests/curl.ts';

export const DIALECTS = { curl: 'curl', python: 'Python', javascript: 'JavaScript' } as const;
export type Dialect = keyof typeof DIALECTS;

/** The same request for a terminal or a program, which reads the token from the environment. */
export function asCode(dialect: Dialect, origin: string, body: PlaygroundChatBody): string {
  if (dialect === 'curl')
    return curlCommand(`${origin}/api/public/v1/chat/completions`, body, '$TOLLGATE_TOKEN');
  const { endpoint, model, ...rest } = body;
  const named = { model: `${endpoint}/${model}`, ...rest };
  // A message that calls tools may have no text.
  const shown = body['tools'] === undefined ? 'message.content' : 'message';
  return dialect === 'python' ? python(origin, named, shown) : javascript(origin, named, shown);
}

function python(origin: string, body: Record<string, unknown>, shown: string): string {
  const fields = Object.entries(body).map(([key, value]) => `    ${key}=${indent(pythonLiteral(value), 4)},`);
  return `import os
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=os.environ["TOLLGATE_TOKEN"])
answer = client.chat.completions.create(
${fields.join('\n')}
)
print(answer.choices[0].${shown})`;
}

function javascript(origin: string, body: Record<string, unknown>, shown: string): string {
  return `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.TOLLGATE_TOKEN });
const answer = await client.chat.completions.create(${JSON.stringify(body, null, 2)});
console.log(answer.choices[0].${shown});`;
}

const STRING_OR_WORD = /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g;
const PYTHON_WORDS: Record<string, string> = { true: 'True', false: 'False', null: 'None' };

/** JSON is valid Python except for three words outside of strings. */
function pythonLiteral(value: unknown): string {
  return JSON.stringify(value, null, 4).replaceAll(STRING_OR_WORD, (found) => PYTHON_WORDS[found] ?? found);
}

function indent(text: string, by: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(by)}`);
}
