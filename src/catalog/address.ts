import { UPSTREAM_KINDS, type UpstreamKind } from './kinds.ts';

interface Addressed {
  readonly kind: string;
  readonly options: ReadonlyMap<string, string>;
}

/** The default address of a kind's requests without a `base_url`; `undefined` for kinds that have none. */
export function defaultAddress({ kind, options }: Addressed): string | undefined {
  const kinds: Readonly<Record<string, UpstreamKind>> = UPSTREAM_KINDS;
  return kinds[kind]?.address?.replaceAll(HOLE, (_, option: string) => options.get(option) ?? option);
}

/** Options that are part of the default address. */
export function addressOptions(kind: UpstreamKind): string[] {
  return [...(kind.address ?? '').matchAll(HOLE)].map(([, option = '']) => option);
}

const HOLE = /\{(\w+)\}/g;

/** `https://host:port` of the server that an upstream calls; `undefined` if it calls none. */
export function upstreamOrigin(upstream: Addressed & { baseUrl: string | undefined }): string | undefined {
  const address = upstream.baseUrl ?? defaultAddress(upstream);
  return address !== undefined && URL.canParse(address) ? new URL(address).origin : undefined;
}

/**
 * Reads a host as people enter it and returns its origin: `api.example.com` means https. `undefined` if it is not a
 * host.
 */
export function readOrigin(text: string): string | undefined {
  const given = text.trim();
  const whole = given.includes('://') ? given : `https://${given}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  const usable = url && ['http:', 'https:'].includes(url.protocol) && url.username + url.password === '';
  return usable ? url.origin : undefined;
}
