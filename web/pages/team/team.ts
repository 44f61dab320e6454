import type { Answer, BodyOf } from '../../../src/console/contract/routes.ts';
import type { ReadRoute } from '../../lib/api.ts';
import { parseUsd } from '../../lib/money.ts';
import { BALANCE_READS } from '../../lib/wallet.ts';

export type Team = NonNullable<Answer<'GET /api/console/team'>['team']>;
export type TeamAccount = Team['accounts'][number];
export type TeamRole = Team['role'];
export type LimitsBody = BodyOf<'POST /api/console/team/apps/{id}/limits'>;
export type Period = NonNullable<TeamAccount['budget']>['per'];

export const PERIODS = ['day', 'week', 'month', 'total'] as const satisfies readonly Period[];

export const TEAM_READS: readonly ReadRoute[] = ['GET /api/console/team'];
/** Further queries that joining and leaving change, because the token is then another account's. */
export const MEMBERSHIP_READS: readonly ReadRoute[] = [
  'GET /api/console/token',
  'GET /api/console/session',
  ...BALANCE_READS,
  'GET /api/console/quickstart',
];

/** The roles that somebody may give. */
export function givableRoles({ rights }: Pick<Team, 'rights'>): readonly TeamRole[] {
  return rights.includes('change_owners')
    ? ['member', 'viewer', 'admin', 'owner']
    : ['member', 'viewer', 'admin'];
}

export interface LimitValues extends Record<string, string> {
  amount: string;
  per: Period;
  models: string;
  networks: string;
  lastDay: string;
}

export function limitValues({ budget, limits }: Pick<TeamAccount, 'budget' | 'limits'>): LimitValues {
  return {
    amount: budget?.amountUsd ?? '',
    per: budget?.per ?? 'month',
    models: limits.models?.join('\n') ?? '',
    networks: limits.networks?.join('\n') ?? '',
    lastDay: limits.expiresAt === null ? '' : dayBefore(limits.expiresAt),
  };
}

export function isAmountWrong({ amount }: Pick<LimitValues, 'amount'>): boolean {
  return amount.trim() !== '' && (parseUsd(amount)?.startsWith('-') ?? true);
}

export function budgetBody({ amount, per }: Pick<LimitValues, 'amount' | 'per'>): LimitsBody['budget'] {
  const amountUsd = parseUsd(amount);
  return amountUsd === undefined ? null : { amountUsd, per };
}

export function limitsBody(values: LimitValues): LimitsBody {
  return {
    budget: budgetBody(values),
    models: lines(values.models),
    networks: lines(values.networks),
    expiresAt: values.lastDay === '' ? null : endOfDay(values.lastDay),
  };
}

function lines(text: string): string[] | null {
  const found = text.split(/[\n,]/).map((line) => line.trim());
  const filled = found.filter((line) => line !== '');
  return filled.length > 0 ? filled : null;
}

/** `2026-11-30` of the browser's calendar: the moment at which it is over. */
function endOfDay(day: string): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + 1).getTime();
}

function dayBefore(moment: number): string {
  const last = new Date(moment - 1);
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${last.getFullYear()}-${two(last.getMonth() + 1)}-${two(last.getDate())}`;
}
