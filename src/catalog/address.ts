import { UPSTREAM_KINDS, type UpstreamKind } from './kinds.ts';

interface Addressed {
  readonly kind: string;
  readonly options: ReadonlyMap<string, string>;
}

/** Where a kind's requests go when the catalog names no `base_url`; `undefined` for kinds without a usual address. */
export function usualAddress({ kind, options }: Addressed): string | undefined {
  const kinds: Readonly<Record<string, UpstreamKind>> = UPSTREAM_KINDS;
  return kinds[kind]?.address?.replaceAll(HOLE, (_, option: string) => options.get(option) ?? option);
}

/** Options that are part of the usual address. */
export function addressOptions(kind: UpstreamKind): string[] {
  return [...(kind.address ?? '').matchAll(HOLE)].map(([, option = '']) => option);
}

const HOLE = /\{(\w+)\}/g;

/** `https://host:port` of the server that an upstream talks to; `undefined` when it talks to none. */
export function upstreamOrigin(upstream: Addressed & { baseUrl: string | undefined }): string | undefined {
  const address = upstream.baseUrl ?? usualAddress(upstream);
  return address !== undefined && URL.canParse(address) ? new URL(address).origin : undefined;
}

/** What a person enters as a host, as an origin: `api.example.com` is meant with https. `undefined`: not a host. */
export function readOrigin(text: string): string | undefined {
  const given = text.trim();
  const whole = given.includes('://') ? given : `https://${given}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  const usable = url && ['http:', 'https:'].includes(url.protocol) && url.username + url.password === '';
  return usable ? url.origin : undefined;
}
