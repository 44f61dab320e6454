import type { Clock } from '../../std/clock.ts';
import { AuthRefusal } from './refusal.ts';
import { CONFIRMED_MS, type Visitor } from './session.ts';

/** An unattended session must not be enough to replace a token, to add a sign-in method or to move money. */
export function requireConfirmed(visitor: Visitor, clock: Clock): void {
  if (clock.now() - visitor.provedAt <= CONFIRMED_MS) return;
  throw new AuthRefusal('confirmation_required', 'Enter your password again to do this.');
}
