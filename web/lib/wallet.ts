import { useSyncExternalStore } from 'react';
import type { SignedInUser } from './answers.ts';
import { useApi, type ReadOptions, type ReadRoute, type Wallet } from './api.ts';
import { useUser } from './session.ts';
import { readStored, WALLET_KEY, writeStored } from './storage.ts';
import { makeStore } from './store.ts';

type OwnTeam = NonNullable<SignedInUser['team']>;

interface WalletChoice {
  readonly wallet: Wallet;
  /** The chosen team; its rights say what may be done with its money. */
  readonly team: OwnTeam | undefined;
}

/** A page that somebody comes back to after paying for a team says so. Outside a browser there is no address. */
const search = 'location' in globalThis ? location.search : '';
const asked = new URLSearchParams(search).get('wallet') ?? readStored(WALLET_KEY);
const chosen = makeStore<{ wallet: Wallet }>({ wallet: asked === 'team' ? 'team' : 'own' });

/** Whose money the pages show: the own account's, or the team's for whoever is in one and has chosen it. */
export function useWallet(): WalletChoice {
  const { team } = useUser();
  const { wallet } = useSyncExternalStore(chosen.subscribe, chosen.get);
  return team && wallet === 'team' ? { wallet, team } : { wallet: 'own', team: undefined };
}

/** What is sold, at the prices that requests have with the chosen balance. */
export function useModels(more?: ReadOptions) {
  const { wallet } = useWallet();
  return useApi('GET /api/console/models', { query: { wallet } }, more);
}

/** For what is asked outside of any component; the server refuses a team to whoever is in none. */
export function currentWallet(): Wallet {
  return chosen.get().wallet;
}

export function chooseWallet(wallet: Wallet): void {
  writeStored(WALLET_KEY, wallet);
  chosen.change({ wallet });
}

/** The queries that every payment and every charge changes, for the own balance or the team's. */
export const BALANCE_READS = [
  'GET /api/console/overview',
  'GET /api/console/wallet',
  'GET /api/console/team',
  'GET /api/console/team/usage',
  'GET /api/console/team/requests',
] as const satisfies readonly ReadRoute[];
