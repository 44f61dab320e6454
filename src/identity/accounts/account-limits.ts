import { isIP } from 'node:net';
import type { Period } from '../../std/calendar.ts';
import { Fault } from '../../std/fault.ts';
import { isModelPattern, LONGEST_PATTERN, MOST_PATTERNS } from '../../std/model-patterns.ts';
import { parseUsd, type NanoUsd } from '../../std/money.ts';
import type { AccountTable } from '../../store/schema.ts';
import type { Updateable } from 'kysely';

/** What an account may spend, and what its token may be used for. An absent field changes nothing, `null` removes a limit. */
export interface SpendingLimits {
  readonly budget?: NewBudget | null | undefined;
  readonly models?: readonly string[] | null | undefined;
  readonly networks?: readonly string[] | null | undefined;
  readonly expiresAt?: number | null | undefined;
}

export interface NewBudget {
  readonly amount: NanoUsd;
  readonly per: Period;
}

const PERIODS: readonly Period[] = ['day', 'week', 'month', 'total'];
const MOST_NETWORKS = 50;

/** `20/month`; an amount alone is for all time. `none` is no budget. */
export function parseBudget(text: string): NewBudget | null {
  if (text === 'none') return null;
  const [amountText = '', per = 'total', ...rest] = text.split('/');
  const amount = parseUsd(amountText);
  if (amount === undefined || rest.length > 0 || !isPeriod(per))
    throw new Fault(
      'invalid_field',
      `'${text}' is not a budget such as 5/day, 20/month, 100/total or none.`,
      {
        param: 'budget',
      },
    );
  return { amount, per };
}

function isPeriod(text: string): text is Period {
  return PERIODS.some((one) => one === text);
}

/** The columns of what a token may be used for; throws where one makes no sense. */
export function tokenColumns({ models, networks, expiresAt }: SpendingLimits): Updateable<AccountTable> {
  return {
    ...(models === undefined
      ? {}
      : { token_models: models === null ? null : checkedModels(models).join('\n') }),
    ...(networks === undefined
      ? {}
      : { token_networks: networks === null ? null : checkedNetworks(networks).join('\n') }),
    ...(expiresAt === undefined ? {} : { token_expires_at: expiresAt }),
  };
}

function checkedModels(patterns: readonly string[]): readonly string[] {
  if (patterns.length === 0 || patterns.length > MOST_PATTERNS)
    throw wrong('models', `name from 1 to ${MOST_PATTERNS} patterns of models`);
  for (const pattern of patterns) {
    if (!isModelPattern(pattern))
      throw wrong(
        'models',
        `'${pattern.slice(0, LONGEST_PATTERN)}' is not a pattern such as svc_chat/gpt-5 or svc_chat/*`,
      );
  }
  return patterns;
}

function checkedNetworks(networks: readonly string[]): readonly string[] {
  if (networks.length === 0 || networks.length > MOST_NETWORKS)
    throw wrong('networks', `name from 1 to ${MOST_NETWORKS} networks`);
  for (const network of networks)
    if (!isNetwork(network)) throw wrong('networks', `'${network}' is not a network such as 192.0.2.0/24`);
  return networks;
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (bits === undefined) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}

function wrong(param: string, message: string): Fault {
  return new Fault('invalid_field', `${param}: ${message}.`, { param });
}
