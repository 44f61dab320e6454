import { addressMatcher } from '../std/addresses.ts';
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
  { endpoint, model }: { readonly endpoint: string; readonly model: string },
): boolean {
  if (models === undefined) return true;
  const name = `${endpoint}/${model}`;
  return models.some((pattern) => matches(pattern, name));
}

/** `*` stands for any characters, none included; everything else for itself. No pattern takes more than two passes. */
function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false;
  let from = first.length;
  const end = name.length - last.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at === -1 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
