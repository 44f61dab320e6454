import { lookup as systemLookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

const loopback = listOf([
  ['127.0.0.0', 8],
  ['::1', 128],
]);

/** Everything that is not the public internet: private, loopback, link-local, shared, documentation, multicast, mapped. */
const notPublic = listOf([
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // The host of virtual machines in Azure, which answers nobody else.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  ['::', 96],
  // IPv4 translated to IPv6; what is mapped (::ffff:a.b.c.d) is checked as IPv4.
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  // Teredo, benchmarks, ORCHID and the like.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
]);

/**
 * An address as a proxy or a socket gives it, in its one shortest form: without a port, brackets or a zone, IPv4 in IPv6 as
 * IPv4. `undefined`: it is no address. Everything that counts by address compares this form.
 */
export function parseAddress(text: string): string | undefined {
  // What most clients have, and every request is asked for.
  if (isIPv4(text)) return text;
  const bare = withoutPort(text.trim());
  const version = isIP(bare);
  if (version !== 6) return version === 4 ? bare : undefined;
  const host = new URL(`http://[${bare.replace(/%.*$/, '')}]`).hostname;
  return unmapped(host.slice(1, -1));
}

/** An address or a CIDR range, its address in the form of {@link parseAddress}. `undefined`: it is neither. */
export function parseNetwork(text: string): string | undefined {
  const [given = '', bits, ...rest] = text.split('/');
  if (isIP(given) === 0 || given.includes('%') || rest.length > 0) return undefined;
  const address = parseAddress(given);
  if (address === undefined || bits === undefined) return address;
  const isVersion4 = isIPv4(address);
  const length = Number(bits) - (isVersion4 && given.includes(':') ? MAPPED_BITS : 0);
  if (!/^\d{1,3}$/.test(bits) || length < 0 || length > (isVersion4 ? 32 : 128)) return undefined;
  return `${address}/${length}`;
}

/** Before the address of an IPv4 address in IPv6. */
const MAPPED_BITS = 96;

/** `192.0.2.1:443`, `[2001:db8::1]:443` and `[2001:db8::1]`; what is neither stays as it is. */
function withoutPort(text: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? [];
  return bracketed ?? plain ?? text;
}

export function isLoopback(address: string): boolean {
  return contains(loopback, address);
}

/** Anything that is not a public address, an unparsable one included. */
export function isPrivateAddress(address: string): boolean {
  return isIP(address) === 0 || contains(notPublic, address);
}

/** A list of addresses and CIDR ranges as the operator writes them. */
export function addressMatcher(ranges: readonly string[]): (address: string) => boolean {
  const list = listOf(
    ranges.map((range) => {
      const [address = '', bits] = range.split('/');
      return [address, bits === undefined ? (isIPv6(address) ? 128 : 32) : Number(bits)];
    }),
  );
  return (address) => contains(list, address);
}

function contains(list: BlockList, address: string): boolean {
  const plain = parseAddress(address);
  return plain !== undefined && list.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4');
}

/** In the shortest form 127.0.0.1 in IPv6 is ::ffff:7f00:1. */
function unmapped(address: string): string {
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 0xff, second >> 8, second & 0xff].join('.');
}

/**
 * The network that attempts are counted for. One IPv4 address: whole blocks are shared by strangers at a hoster or a
 * carrier, whose failures must not delay each other; somebody with many addresses is bounded by the limit on the
 * account. A /64 of IPv6, because any client has one to itself. What is no address is one network, whatever it says.
 */
export function networkOf(address: string): string {
  const plain = parseAddress(address);
  if (plain === undefined) return 'unknown';
  return plain.includes(':') ? groupsOf(plain).slice(0, 4).join(':') : plain;
}

/** The first groups of an address that is written in the shortest form. */
function groupsOf(address: string): string[] {
  const [head = '', tail] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0');
  return [...left, ...zeros, ...right];
}

function listOf(ranges: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [address, bits] of ranges) list.addSubnet(address, bits, isIPv6(address) ? 'ipv6' : 'ipv4');
  return list;
}

/**
 * How an address from an account or a backend is checked. Tests replace name resolution and trust a certificate of
 * their own.
 */
export interface PublicTargetRules {
  readonly lookup?: ((host: string) => Promise<readonly string[]>) | undefined;
  readonly isPrivate?: ((address: string) => boolean) | undefined;
  readonly ca?: string | undefined;
}

/** Where to connect, and how. */
export interface Target {
  readonly url: string;
  readonly options: typeof BOUNDED & {
    readonly headers: Readonly<Record<string, string>>;
    readonly tls?: BunFetchRequestInitTLS;
  };
}

/**
 * An answer is never decompressed: some kilobytes may become hundreds of megabytes, also where nobody reads them. A kept-alive
 * connection is found again by its address, which several names may share.
 */
const BOUNDED = { decompress: false, keepalive: false } as const;
const UNENCODED = { 'accept-encoding': 'identity' };

/** An address that whoever operates this server has given. */
export function privateTarget(url: URL): Target {
  return { url: url.href, options: { ...BOUNDED, headers: UNENCODED } };
}

/**
 * Where to connect for an address from an account or a backend, or a sentence that says why not. The name is resolved here,
 * once, and the result is a numeric address: a second resolution could give another. A name with one private address is
 * private.
 */
export async function publicTarget(url: URL, rules: PublicTargetRules): Promise<Target | string> {
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
      ...BOUNDED,
      headers: { ...UNENCODED, host: url.host },
      tls: { ...(isName ? { serverName: host } : {}), ...(ca === undefined ? {} : { ca }) },
    },
  };
}

async function lookupAll(host: string): Promise<string[]> {
  return (await systemLookup(host, { all: true })).map(({ address }) => address);
}
