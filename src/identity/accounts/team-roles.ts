import type { TeamRole } from '../../store/schema.ts';

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
