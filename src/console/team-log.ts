import { writeAudit } from '../activity/audit.ts';
import type { TeamRight } from '../identity/accounts/team-roles.ts';
import type { Visitor } from '../identity/sign-in/session.ts';
import type { RouteParts } from './parts.ts';
import { requireTeamRight } from './team-view.ts';

interface TeamChange {
  readonly action: string;
  readonly right: TeamRight;
  readonly user: Visitor;
  /** The account or invitation that is changed. */
  readonly about: string | undefined;
  readonly body: unknown;
}

/**
 * Recorded before it is done, for the team's owners; a refusal adds a second entry. Whoever may not change anything leaves
 * none: entries are kept for ever.
 */
export async function loggedInTeam<Result>(
  parts: RouteParts,
  { action, right, user, about = '', body }: TeamChange,
  work: () => Promise<Result>,
): Promise<Result> {
  const { teamId } = await requireTeamRight(parts, user, right);
  parts.auth.throttle.act('team', user.accountId);
  const entry = { actor: user.accountId, target: teamId };
  const { store, clock } = parts;
  await writeAudit(store, { ...entry, action, detail: { account: about, ...recordable(body) } }, clock.now());
  try {
    return await work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'internal_error';
    await writeAudit(store, { ...entry, action: `${action}.refused`, detail: { code } }, clock.now());
    throw error;
  }
}

/** Not what an app is called: an entry cannot be changed, and an app can be anybody's. */
function recordable(body: unknown): Record<string, unknown> {
  const { name: _, ...said } = { name: undefined, ...(body as object | undefined) };
  return said;
}
