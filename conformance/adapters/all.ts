import type { Adapter } from '../gateway.ts';
import { liteLlm } from './litellm.ts';
import { newApi, newApiSqlite } from './new-api.ts';
import { oneApi } from './one-api.ts';
import { openAiCompatible } from './openai-compatible.ts';
import { portkey } from './portkey.ts';
import { tollgatePostgres, tollgateSqlite } from './tollgate.ts';

export const ADAPTERS: readonly Adapter[] = [
  tollgateSqlite,
  tollgatePostgres,
  newApi,
  newApiSqlite,
  oneApi,
  liteLlm,
  portkey,
  openAiCompatible,
];
