import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isPrivateAddress } from './addresses.ts';

/** How an address that others gave is checked. Tests replace name resolution and trust a certificate of their own. */
export interface PublicTargetRules {
  readonly lookup?: ((host: string) => Promise<readonly string[]>) | undefined;
  readonly isPrivate?: ((address: string) => boolean) | undefined;
  readonly ca?: string | undefined;
}

export interface PublicTarget {
  readonly url: string;
  readonly options: BunFetchRequestInit;
}

/**
 * Where to connect for an address that others gave, or a sentence about why not. The name is resolved here, once, and the
 * result is an address of digits: a second resolution could give another. A name with one private address is private.
 */
export async function publicTarget(url: URL, rules: PublicTargetRules): Promise<PublicTarget | string> {
  if (url.protocol !== 'https:') return 'the address is not https';
  const { lookup = lookupAll, isPrivate = isPrivateAddress, ca } = rules;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isName = isIP(host) === 0;
  const addresses = isName ? await lookup(host) : [host];
  const [address] = addresses;
  if (address === undefined) return 'the name has no address';
  if (addresses.some(isPrivate)) return 'the name leads into a private network';
  const checked = new URL(url);
  checked.hostname = isIP(address) === 6 ? `[${address}]` : address;
  return {
    url: checked.href,
    options: {
      // A connection that is kept is found again by its address, which several names may share.
      keepalive: false,
      headers: { host: url.host },
      tls: { ...(isName ? { serverName: host } : {}), ...(ca === undefined ? {} : { ca }) },
    },
  };
}

async function lookupAll(host: string): Promise<string[]> {
  return (await systemLookup(host, { all: true })).map(({ address }) => address);
}
