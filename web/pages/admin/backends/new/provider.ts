import type { AdminProviders } from '../../../../lib/answers.ts';

type AdminProvider = AdminProviders['items'][number];

export interface ChosenProvider {
  /** The name of the backend in the catalog. */
  readonly name: string;
  readonly title: string;
  readonly host: string;
  readonly origin: string;
  readonly keyName: string | undefined;
  readonly hasKey: boolean;
  /** The server's address, if there is no preset for it. */
  readonly server?: { readonly baseUrl: string; readonly keyName?: string };
  /** The bundled list knows its prices. */
  readonly isListed: boolean;
}

export function listedProvider({
  name,
  title,
  host,
  origin,
  keyName,
  hasKey,
}: AdminProvider): ChosenProvider {
  return { name, title, host, origin, keyName: keyName ?? undefined, hasKey, isListed: true };
}

export function localServer({ name, title, host }: AdminProviders['local'][number]): ChosenProvider {
  const origin = `http://${host}`;
  return { name, title, host, origin, keyName: undefined, hasKey: true, isListed: false };
}

export interface EnteredServer {
  readonly name: string;
  readonly address: string;
  readonly needsKey: boolean;
}

/** `undefined`: there is none of this name, or the address is not valid. */
export function providerNamed(
  entered: EnteredServer,
  providers: AdminProviders | undefined,
): ChosenProvider | undefined {
  if (entered.address !== '') return ownServer(entered);
  const listed = providers?.items.find(({ name }) => name === entered.name);
  if (listed) return listedProvider(listed);
  const local = providers?.local.find(({ name, models }) => name === entered.name && models !== null);
  return local && localServer(local);
}

/** `undefined` if the address is not valid. */
export function ownServer({ name, address, needsKey }: EnteredServer): ChosenProvider | undefined {
  const baseUrl = address.trim().replace(/\/+$/, '');
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) return undefined;
  const { host, origin } = new URL(baseUrl);
  const keyName = needsKey ? `${name.toUpperCase().replaceAll('-', '_')}_API_KEY` : undefined;
  return {
    name,
    title: name,
    host,
    origin,
    keyName,
    hasKey: false,
    server: { baseUrl, ...(keyName !== undefined && { keyName }) },
    isListed: false,
  };
}
