import { withMembers, type JsonText } from '../std/json-parse.ts';
import { UpstreamFailure, type EmbeddingAnswer } from './port.ts';

/** Vectors as a backend of OpenAI's API wrote them: however many they are, they are not written again. */
export function embeddingAnswer(json: JsonText): EmbeddingAnswer {
  const { value } = json;
  if (typeof value !== 'object' || value === null || !('data' in value))
    throw new UpstreamFailure('protocol', 'the answer holds no embeddings');
  return {
    usage: 'usage' in value ? value.usage : undefined,
    text: (changed) => withMembers(json, changed),
  };
}
