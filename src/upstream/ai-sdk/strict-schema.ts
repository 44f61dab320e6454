import type { ChatRequest } from '../../wire/openai/chat.ts';
import { isObject } from './json.ts';

/** OpenAI's `strict` of a JSON schema: packages have their own defaults, the canonical form's is false. */
export function strictSchema({ response_format }: ChatRequest): { strictJsonSchema?: boolean } {
  if (!isObject(response_format) || !isObject(response_format.json_schema)) return {};
  return { strictJsonSchema: response_format.json_schema.strict === true };
}
