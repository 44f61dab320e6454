import { z } from 'zod';
import { teamRoleMay } from '../identity/accounts/team-roles.ts';
import type { AccountId } from '../std/ids.ts';
import type { Visitor } from '../identity/sign-in/session.ts';
import type { RouteParts } from './parts.ts';
import { route, type RouteCall, type RouteDeclaration, type RouteName } from './route.ts';
import { requireTeamRight } from './team-view.ts';

/** Whose money a page is about. */
const WALLETS = ['own', 'team'] as const;
const walletFields = { wallet: z.enum(WALLETS).optional() };

/** What a role must be allowed in a team to do it with the team's money. With their own, everybody may. */
type WalletRight = 'see_money' | 'change_money';

export interface ChosenWallet {
  /** Balance, entries, payments and statements belong to this account. */
  readonly id: AccountId;
  readonly isTeams: boolean;
  /** Whether the caller may pay into it, and change how it is paid. */
  readonly mayPay: boolean;
}

type WalletQuery<Fields extends z.ZodRawShape> = z.ZodObject<Fields & typeof walletFields, z.core.$strict>;

interface WalletRouteOptions<
  Name extends RouteName,
  Fields extends z.ZodRawShape,
  Body extends z.ZodType,
  Answer,
> {
  readonly right: WalletRight;
  readonly compressed?: true;
  readonly query?: Fields;
  readonly body?: Body;
  readonly handle: (
    parts: RouteParts,
    wallet: ChosenWallet,
    call: RouteCall<Name, 'user', WalletQuery<Fields>, Body>,
  ) => Promise<Answer>;
}

/**
 * Declares a route about money. It is the caller's own, or with `wallet=team` that of the team they are in: which of the
 * two, and whether their role allows it, is decided here and nowhere else.
 */
export function walletRoute<
  const Name extends RouteName,
  Answer,
  Fields extends z.ZodRawShape = typeof walletFields,
  Body extends z.ZodType = z.ZodUndefined,
>(
  name: Name,
  { right, query, handle, ...declaration }: WalletRouteOptions<Name, Fields, Body, Answer>,
): RouteDeclaration<Name, 'user', WalletQuery<Fields>, Body, Answer> {
  return route(name, {
    ...declaration,
    who: 'user',
    wallet: right,
    // The fields of both, which the compiler does not see through the spread of a type parameter.
    query: z.strictObject({ ...query, ...walletFields }) as unknown as WalletQuery<Fields>,
    async handle(parts, call) {
      const { wallet } = call.query as { readonly wallet?: (typeof WALLETS)[number] };
      return await handle(parts, await chosenWallet(parts, call.user, { wallet, right }), call);
    },
  });
}

async function chosenWallet(
  parts: RouteParts,
  user: Visitor,
  { wallet = 'own', right }: { wallet: (typeof WALLETS)[number] | undefined; right: WalletRight },
): Promise<ChosenWallet> {
  if (wallet === 'own') return { id: user.accountId, isTeams: false, mayPay: true };
  const { teamId, role } = await requireTeamRight(parts, user, right);
  // The primary key of an account is an account id.
  return { id: teamId as AccountId, isTeams: true, mayPay: teamRoleMay(role, 'change_money') };
}
