import { z } from 'zod';
import { teamRoleMay } from '../identity/accounts/roles.ts';
import type { AccountId } from '../std/ids.ts';
import type { Visitor } from '../identity/sign-in/session.ts';
import type { RouteParts } from './parts.ts';
import { route, type RouteCall, type RouteDeclaration, type RouteName } from './route.ts';
import { membershipOf, requireTeamRight } from './team-view.ts';

/** Whose money a page is about. */
export const WALLETS = ['own', 'team'] as const;
const walletFields = { wallet: z.enum(WALLETS).optional() };

/** What a role must be allowed in a team to do it with the team's money. With their own, everybody may. */
type WalletRight = 'see_money' | 'change_money' | 'see_own' | 'spend';

export interface ChosenWallet {
  /** Balance, entries, payments and statements belong to this account. */
  readonly id: AccountId;
  /** Requests, images and what belongs to them: with this account the caller spends it. */
  readonly spenderId: AccountId;
  /** The own account of the person who acts. */
  readonly personId: AccountId;
  readonly isTeams: boolean;
  /** Whether the caller may pay into it, and change how it is paid. */
  readonly mayPay: boolean;
  /** Whether the caller sees what every account used of it; otherwise the spender's alone. */
  readonly seesAll: boolean;
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
  readonly takesSlot?: true;
  readonly maxBytes?: number;
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
  const own = user.accountId;
  const personId = own;
  if (wallet === 'own')
    return { id: own, spenderId: own, personId, isTeams: false, mayPay: true, seesAll: true };
  const { account, teamId, role } = await requireTeamRight(parts, user, right);
  const [mayPay, seesAll] = [teamRoleMay(role, 'change_money'), teamRoleMay(role, 'see_all')];
  // The primary key of an account is an account id.
  const [id, spenderId] = [teamId as AccountId, account.id as AccountId];
  return { id, spenderId, personId, isTeams: true, mayPay, seesAll };
}

/** Finds something in a person's own account or in their account of the team. */
export async function foundInOwn<Found>(
  parts: RouteParts,
  user: Visitor,
  find: (accountId: AccountId) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const own = await find(user.accountId);
  if (own !== undefined) return own;
  const member = await membershipOf(parts, user);
  return member && (await find(member.account.id as AccountId));
}
