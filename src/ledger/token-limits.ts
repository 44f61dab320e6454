import { addressMatcher } from '../std/addresses.ts';
import { matchesAny } from '../std/model-patterns.ts';
import type { AccountRow } from '../store/schema.ts';
import type { AdmissionRequest, TokenLimits } from './port.ts';

type LimitColumns = Pick<AccountRow, 'token_models' | 'token_networks' | 'token_expires_at'>;

export function tokenLimitsOf(row: LimitColumns): TokenLimits | undefined {
  const { token_models: models, token_networks: networks, token_expires_at: expiresAt } = row;
  if (models === null && networks === null && expiresAt === null) return undefined;
  return {
    expiresAt: expiresAt ?? undefined,
    models: models?.split('\n'),
    networks: networks?.split('\n'),
  };
}

/** `undefined`: it may be used. */
export function tokenRefusal(
  limits: TokenLimits,
  { address, nowMs, route }: TokenUse,
): 'invalid_token' | 'network_not_allowed' | 'model_not_allowed' | undefined {
  if (limits.expiresAt !== undefined && nowMs !== undefined && limits.expiresAt <= nowMs)
    return 'invalid_token';
  if (limits.networks && address !== undefined && !addressMatcher(limits.networks)(address))
    return 'network_not_allowed';
  if (route && !allowsModel(limits, route)) return 'model_not_allowed';
  return undefined;
}

/** Of an admission. A session of the console uses no token: the models are all that binds it. */
export function tokenUse({ caller, endpoint, model }: AdmissionRequest, nowMs: number): TokenUse {
  const route = { endpoint, model };
  return caller.kind === 'token' ? { address: caller.address, nowMs, route } : { route };
}

interface TokenUse {
  readonly address?: string | undefined;
  readonly nowMs?: number;
  readonly route?: { readonly endpoint: string; readonly model: string } | undefined;
}

export function allowsModel(
  { models }: Pick<TokenLimits, 'models'>,
  route: { readonly endpoint: string; readonly model: string },
): boolean {
  return models === undefined || matchesAny(models, route);
}
