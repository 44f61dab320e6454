import type { UpstreamConfig } from '../catalog/catalog.ts';
import type { Clock } from '../std/clock.ts';
import type { Upstream } from '../upstream/port.ts';

type House = Upstream & Required<Pick<Upstream, 'streamImages'>>;

/** The built-in backend. Guides, index and painter are loaded by the first call: most installations sell other models. */
export function houseBackend(config: UpstreamConfig, parts: { readonly clock: Clock }): Upstream {
  let loaded: Promise<House> | undefined;
  const house = (): Promise<House> =>
    (loaded ??= import('./house.ts').then(({ makeHouse }) => makeHouse(config, parts)));
  return {
    name: config.name,
    chat: async (call) => await (await house()).chat(call),
    images: async (call) => await (await house()).images(call),
    streamImages: async (call) => (await house()).streamImages(call),
    check: () => Promise.resolve({ ok: true, detail: 'built in', latencyMs: 0 }),
  };
}
