import { json } from '../http/response.ts';
import { COMMON_ERRORS, OPENAI_ERRORS } from './errors.ts';
import type { ApiOperation } from './operation.ts';

export const documentOperation: ApiOperation = {
  id: 'getOpenApi',
  method: 'GET',
  path: '/api/public/v1/openapi.json',
  tag: 'Catalog',
  summary: 'Get this document',
  token: 'none',
  answer: {
    description: 'OpenAPI 3.1',
    headers: 'none',
    untyped: { mediaType: 'application/json', schema: { type: 'object' } },
  },
  errors: COMMON_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: ({ openApi }) => {
    // Made on first request, because it takes longer than the rest of the startup.
    let text: string | undefined;
    return async ({ requestId }) => json((text ??= JSON.stringify(openApi())), requestId);
  },
};
