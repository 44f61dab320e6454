import type { Adapter } from '../gateway.ts';
import { openAiCompatible } from './openai-compatible.ts';
import { tollgatePostgres, tollgateSqlite } from './tollgate.ts';

export const ADAPTERS: readonly Adapter[] = [tollgateSqlite, tollgatePostgres, openAiCompatible];
