import type { UpstreamConfig } from '../catalog/catalog.ts';
import type { Clock } from '../std/clock.ts';
import { makeBlocked } from './blocked.ts';
import { makeGguf } from './gguf/gguf.ts';
import { makeHouse } from './house/house.ts';
import { makeOpenAi } from './openai.ts';
import type { Upstream } from './port.ts';
import { makeProvider } from './providers/provider.ts';

/** Makes a backend from its configuration. The catalog has checked that the kind exists. */
export function makeUpstream(config: UpstreamConfig, clock: Clock): Upstream {
  if (config.problem !== undefined) return makeBlocked(config.name, config.problem);
  if (config.kind === 'openai') return makeOpenAi(config);
  if (config.kind === 'house') return makeHouse(config, { clock });
  if (config.kind === 'gguf') return makeGguf(config, { clock });
  const provider = makeProvider(config, { clock });
  if (provider) return provider;
  throw new Error(`there is no kind of upstream '${config.kind}'`);
}
