import { API_JSON, MAX_BODY_BYTES, NO_BODY, type BodyRule } from '../http/request-body.ts';
import { apiErrors } from '../http/response.ts';
import type { HttpRoute } from '../http/router.ts';
import { account } from './account.ts';
import { chatCompletions, v1ChatCompletions } from './chat-completions.ts';
import {
  addConversationItems,
  conversation,
  conversationItem,
  createConversation,
  deleteConversation,
  deleteConversationItem,
  listConversationItems,
} from './conversations.ts';
import { countMessageTokens } from './count-tokens.ts';
import { batchEmbedContents, embedContent } from './embed-content.ts';
import { embeddings } from './embeddings.ts';
import { ANTHROPIC_ERRORS, GOOGLE_ERRORS } from './errors.ts';
import { endpointList, endpointModels } from './endpoints.ts';
import { countGeminiTokens, geminiModels, oneGeminiModel } from './gemini-models.ts';
import {
  generateContent,
  streamGenerateContent,
  v1GenerateContent,
  v1StreamGenerateContent,
} from './generate-content.ts';
import { imageEdits, v1ImageEdits } from './image-edits.ts';
import { imageJob, imageByLink, imageGenerations, v1ImageGenerations } from './images.ts';
import { hello, messages } from './messages.ts';
import { models, oneModelById } from './models.ts';
import { moderations } from './moderations.ts';
import { v1Images } from './openrouter-images.ts';
import { documentOperation } from './openapi.ts';
import type { ApiOperation, ApiParts } from './operation.ts';
import { quotes } from './quotes.ts';
import { requestReceipt } from './requests.ts';
import { responses } from './responses.ts';
import {
  cancelResponse,
  deleteStoredResponse,
  responseInputItems,
  storedResponse,
} from './stored-responses.ts';
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
  storedResponse,
  deleteStoredResponse,
  responseInputItems,
  cancelResponse,
  createConversation,
  conversation,
  deleteConversation,
  addConversationItems,
  listConversationItems,
  conversationItem,
  deleteConversationItem,
  textCompletions,
  v1ImageGenerations,
  v1ImageEdits,
  v1Images,
  embeddings,
  moderations,
  models,
  oneModelById,
  messages,
  countMessageTokens,
  generateContent,
  streamGenerateContent,
  countGeminiTokens,
  embedContent,
  batchEmbedContents,
  geminiModels,
  oneGeminiModel,
  v1GenerateContent,
  v1StreamGenerateContent,
  hello,
];

export function apiRoutes(parts: ApiParts): HttpRoute[] {
  return OPERATIONS.map((operation) => ({
    method: operation.method,
    path: routePath(operation),
    door: 'api',
    body: bodyRule(operation),
    handle: operation.handle(parts),
    errors: apiErrors(operation.dialect.body),
  }));
}

/** A form has its pictures, its mask, and some fields. */
const FORM: BodyRule = { kind: 'form', maxBytes: MAX_BODY_BYTES, maxParts: 64 };

function bodyRule({ request }: ApiOperation): BodyRule {
  if (!request) return NO_BODY;
  return request.mediaType === 'multipart/form-data' ? FORM : API_JSON;
}

/** The form of errors below paths that clients of a dialect ask for, also where there is nothing. */
export const API_ERRORS_BY_PATH = [
  ['/v1beta', apiErrors(GOOGLE_ERRORS.body)],
  ['/v1alpha', apiErrors(GOOGLE_ERRORS.body)],
  ['/v1/messages', apiErrors(ANTHROPIC_ERRORS.body)],
] as const;

/** The path with the router's wildcards in place of the parameters' names. */
function routePath({ path, parameters = [] }: ApiOperation): string {
  return parameters.reduce(
    (route, { name, hasSlashes }) => route.replace(`{${name}}`, hasSlashes ? '**' : '*'),
    path,
  );
}
