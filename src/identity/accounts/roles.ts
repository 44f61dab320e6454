import { Fault } from '../../std/fault.ts';
import type { OperatorRole } from '../../store/schema-services.ts';
import type { TeamRole } from '../../store/schema.ts';

export const OPERATOR_ROLES: readonly OperatorRole[] = ['owner', 'full', 'support', 'finance', 'read'];

const EVERYBODY = OPERATOR_ROLES;

/**
 * What operating consists of, and which roles may. Every operation of the console and of the operators' API names its
 * row; the command line is an owner. What support gives is limited by the day, and is never for its own wallet.
 */
export const OPERATOR_RIGHTS = {
  /** Accounts, teams, their requests and refusals, entries, codes, messages, traffic. */
  see_customers: EVERYBODY,
  /** Margins, payments, statements, the catalog with its backends and prices, settings, the audit log. */
  see_business: ['owner', 'full', 'finance', 'read'],
  /** Checks the books, and issues statements. */
  check_books: ['owner', 'full', 'finance'],
  /** Limits and budgets, pausing and resuming. */
  change_accounts: ['owner', 'full', 'support'],
  /** Ends tokens without seeing one. */
  end_tokens: ['owner', 'full', 'support'],
  /** Credits and refunds. */
  give_money: ['owner', 'full', 'support'],
  /** Adjustments and codes, and whatever else takes or makes money. */
  adjust_money: ['owner', 'full'],
  /** Accounts, teams, their members and apps, invitations; also removes them. */
  make_accounts: ['owner', 'full'],
  /** Tokens, passwords and links that let somebody in as a customer. */
  make_tokens: ['owner', 'full'],
  /** Backends, prices, provider keys, and who is in which price group. */
  change_catalog: ['owner', 'full'],
  /** Settings and webhooks of the operator. */
  change_settings: ['owner', 'full'],
  /** Roles, and tokens that operate. */
  change_operators: ['owner'],
} as const satisfies Record<string, readonly OperatorRole[]>;

export type OperatorRight = keyof typeof OPERATOR_RIGHTS;

export function rightsOfOperator(role: OperatorRole): OperatorRight[] {
  // `Object.keys` loses the type of the table's keys.
  return (Object.keys(OPERATOR_RIGHTS) as OperatorRight[]).filter((right) => operatorMay(role, right));
}

export function operatorMay(role: OperatorRole, right: OperatorRight): boolean {
  const roles: readonly OperatorRole[] = OPERATOR_RIGHTS[right];
  return roles.includes(role);
}

/** Throws 403 `not_allowed`, which names the roles that may. */
export function requireOperatorRight(role: OperatorRole | undefined, right: OperatorRight): void {
  if (role !== undefined && operatorMay(role, right)) return;
  const roles = OPERATOR_RIGHTS[right].join(', ');
  const own = role === undefined ? 'You have none of them.' : `Your role is ${role}.`;
  throw new Fault('not_allowed', `This takes one of these roles: ${roles}. ${own}`, { extra: { roles } });
}

export function readOperatorRole(text: string): OperatorRole {
  const role = OPERATOR_ROLES.find((one) => one === text);
  if (role) return role;
  const message = `'${text.slice(0, 40)}' is not a role: ${OPERATOR_ROLES.join(', ')}.`;
  throw new Fault('invalid_field', message, { param: 'role' });
}

/**
 * What can be done in a team, and which roles may. Whoever may not see everything sees the own account alone; owners, and
 * whoever is to become one, are changed by owners only.
 */
export const TEAM_RIGHTS = {
  see_own: ['owner', 'admin', 'viewer', 'member'],
  spend: ['owner', 'admin', 'member'],
  see_all: ['owner', 'admin', 'viewer'],
  see_money: ['owner', 'admin', 'viewer'],
  see_log: ['owner'],
  change_money: ['owner'],
  change_apps: ['owner', 'admin'],
  change_webhooks: ['owner', 'admin'],
  change_members: ['owner', 'admin'],
  change_owners: ['owner'],
  close: ['owner'],
  leave: ['owner', 'admin', 'viewer', 'member'],
} as const satisfies Record<string, readonly TeamRole[]>;

export type TeamRight = keyof typeof TEAM_RIGHTS;

export function teamRoleMay(role: TeamRole, right: TeamRight): boolean {
  const roles: readonly TeamRole[] = TEAM_RIGHTS[right];
  return roles.includes(role);
}
