import { defaultAddress } from './address.ts';
import { PARTNERS } from './builtin-partners.ts';

const OTHERS: Readonly<Record<string, string>> = {
  CEREBRAS_API_KEY: 'https://api.cerebras.ai',
  COHERE_API_KEY: 'https://api.cohere.com',
  DEEPSEEK_API_KEY: 'https://api.deepseek.com',
  FIREWORKS_API_KEY: 'https://api.fireworks.ai',
  GOOGLE_API_KEY: 'https://generativelanguage.googleapis.com',
  GROQ_API_KEY: 'https://api.groq.com',
  PERPLEXITY_API_KEY: 'https://api.perplexity.ai',
  TOGETHER_API_KEY: 'https://api.together.xyz',
  XAI_API_KEY: 'https://api.x.ai',
};

/** The server that a key is for, by the provider's own name of the environment variable. */
export const KNOWN_HOSTS: ReadonlyMap<string, string> = new Map([
  ...PARTNERS.flatMap(({ kind, baseUrl, variables }) => {
    const address = baseUrl ?? defaultAddress({ kind, options: new Map() });
    return address === undefined
      ? []
      : variables.map((name): [string, string] => [name, new URL(address).origin]);
  }),
  ...Object.entries(OTHERS),
]);
