import type { HttpRoute } from '../http/router.ts';
import { account } from './account.ts';
import { chatCompletions, v1ChatCompletions } from './chat-completions.ts';
import { countMessageTokens } from './count-tokens.ts';
import { embeddings } from './embeddings.ts';
import { endpointList, endpointModels } from './endpoints.ts';
import { countGeminiTokens, geminiModels, oneGeminiModel } from './gemini-models.ts';
import { generateContent, streamGenerateContent } from './generate-content.ts';
import { imageEdits, v1ImageEdits } from './image-edits.ts';
import { imageJob, imageByLink, imageGenerations, v1ImageGenerations } from './images.ts';
import { hello, messages } from './messages.ts';
import { models, oneModelById } from './models.ts';
import { documentOperation } from './openapi.ts';
import type { ApiOperation, ApiParts } from './operation.ts';
import { quotes } from './quotes.ts';
import { requestReceipt } from './requests.ts';
import { responses } from './responses.ts';
import { textCompletions } from './text-completions.ts';

/** Every public operation, in the order of the document. The router and the document are made from this list. */
export const OPERATIONS: readonly ApiOperation[] = [
  chatCompletions,
  imageGenerations,
  imageEdits,
  imageByLink,
  imageJob,
  quotes,
  endpointList,
  endpointModels,
  account,
  requestReceipt,
  documentOperation,
  v1ChatCompletions,
  responses,
  textCompletions,
  v1ImageGenerations,
  v1ImageEdits,
  embeddings,
  models,
  oneModelById,
  messages,
  countMessageTokens,
  generateContent,
  streamGenerateContent,
  countGeminiTokens,
  geminiModels,
  oneGeminiModel,
  hello,
];

export function apiRoutes(parts: ApiParts): HttpRoute[] {
  return OPERATIONS.map((operation) => ({
    method: operation.method,
    path: routePath(operation),
    handle: operation.handle(parts),
    faults: operation.dialect.body,
  }));
}

/** The path with the router's wildcards in place of the parameters' names. */
function routePath({ path, parameters = [] }: ApiOperation): string {
  return parameters.reduce(
    (route, { name, hasSlashes }) => route.replace(`{${name}}`, hasSlashes ? '**' : '*'),
    path,
  );
}
