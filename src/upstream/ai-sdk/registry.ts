import { anthropic } from './anthropic.ts';
import { azure } from './azure.ts';
import { bedrock } from './bedrock.ts';
import { cohere } from './cohere.ts';
import { google } from './google.ts';
import { mistral } from './mistral.ts';
import type { Provider } from './provider.ts';

/** Every kind of backend that is reached through an AI SDK package. A new one is a file and a line here. */
export const PROVIDERS: Readonly<Record<string, Provider>> = Object.fromEntries(
  [anthropic, azure, bedrock, cohere, google, mistral].map((provider) => [provider.kind, provider]),
);
