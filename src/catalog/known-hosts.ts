import { defaultAddress } from './address.ts';
import { PARTNERS } from './builtin-partners.ts';
import { PRESETS, type Preset } from './presets.ts';

const OTHERS: Readonly<Record<string, string>> = {
  COHERE_API_KEY: 'https://api.cohere.com',
  GOOGLE_API_KEY: 'https://generativelanguage.googleapis.com',
  BFL_API_KEY: 'https://api.bfl.ai',
  FAL_API_KEY: 'https://queue.fal.run',
  FAL_KEY: 'https://queue.fal.run',
  REPLICATE_API_TOKEN: 'https://api.replicate.com',
  STABILITY_API_KEY: 'https://api.stability.ai',
};

/** The server that a key is for, by the provider's own name of the environment variable. */
export const KNOWN_HOSTS: ReadonlyMap<string, string> = new Map([
  ...PARTNERS.flatMap(({ kind, baseUrl, variables }) => {
    const address = baseUrl ?? defaultAddress({ kind, options: new Map() });
    return address === undefined
      ? []
      : variables.map((name): [string, string] => [name, new URL(address).origin]);
  }),
  ...Object.values<Preset>(PRESETS).flatMap(({ variable, baseUrl }): [string, string][] =>
    variable === undefined ? [] : [[variable, new URL(baseUrl).origin]],
  ),
  ...Object.entries(OTHERS),
]);
