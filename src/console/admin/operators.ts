import { z } from 'zod';
import { emailsOf } from '../../activity/accounts.ts';
import { accountState } from '../../activity/audit.ts';
import { OPERATOR_RIGHTS, OPERATOR_ROLES } from '../../identity/accounts/roles.ts';
import {
  readSupportLimit,
  writeSupportLimit,
  type OperatorToken,
} from '../../identity/accounts/operators.ts';
import type { OperatorRole } from '../../store/schema-services.ts';
import { readUsd, usd } from '../amounts.ts';
import { requireAccount } from '../overview.ts';
import type { RouteParts } from '../parts.ts';
import { emptyBody, route } from '../route.ts';

const role = z.enum(OPERATOR_ROLES);

/** Who operates: people with their roles, and tokens for programs. A token changes none of it, so that it makes no other. */
export const operatorRoutes = [
  route('GET /api/console/admin/operators', {
    who: 'operator',
    may: 'see_business',
    summary: 'List who operates',
    handle: async (parts) => ({
      people: await people(parts),
      tokens: await tokens(parts),
      supportLimitUsd: usd(await readSupportLimit(parts.store.db)),
      /** Each right with the roles that have it. */
      rights: OPERATOR_RIGHTS,
    }),
  }),
  /** Null takes the role away. Every session of the person ends. */
  route('PUT /api/console/admin/accounts/{id}/role', {
    who: 'operator',
    may: 'change_operators',
    summary: 'Change the role of a person',
    consoleOnly: true,
    confirmed: true,
    audit: 'operator.role',
    state: accountState,
    body: z.strictObject({ role: role.nullable() }),
    async handle(parts, { params, operator, body }) {
      await requireAccount(parts, params.id);
      await parts.operators.setRole(params.id, body.role, operator.id);
      return { role: body.role };
    },
  }),
  /** The only time the token is shown. */
  route('POST /api/console/admin/operator-tokens', {
    who: 'operator',
    may: 'change_operators',
    summary: 'Make a token for a program',
    consoleOnly: true,
    secret: true,
    confirmed: true,
    audit: 'operator-token.make',
    recorded: ['name'],
    body: z.strictObject({
      name: z.string().trim().min(1).max(64),
      role,
      expiresAt: z.number().int().positive().max(8_640_000_000_000_000),
      networks: z.array(z.string().max(100)).min(1).max(50).nullish(),
    }),
    async handle(parts, { operator, body }) {
      const { networks, ...wanted } = body;
      const order = { ...wanted, networks: networks ?? undefined, by: operator.id };
      const { token, row } = await parts.operators.makeToken(order);
      return { token, item: tokenItem(row, new Map(), parts.clock.now()) };
    },
  }),
  route('POST /api/console/admin/operator-tokens/{id}/end', {
    who: 'operator',
    may: 'change_operators',
    summary: 'End a token of a program',
    consoleOnly: true,
    audit: 'operator-token.end',
    body: emptyBody,
    async handle({ operators }, { params }) {
      await operators.endToken(params.id);
      return {};
    },
  }),
  route('PUT /api/console/admin/operators/support-limit', {
    who: 'operator',
    may: 'change_operators',
    summary: 'Change what support may give a day',
    consoleOnly: true,
    confirmed: true,
    audit: 'operator.support-limit',
    state: async ({ store }) => ({ support_limit: `$${usd(await readSupportLimit(store.db))} a day` }),
    body: z.strictObject({ limitUsd: z.string().max(30) }),
    async handle({ store, clock }, { body }) {
      await writeSupportLimit(store, readUsd(body.limitUsd, 'limitUsd'), clock.now());
      return { supportLimitUsd: usd(await readSupportLimit(store.db)) };
    },
  }),
];

interface OperatingPerson {
  id: string;
  email: string;
  role: OperatorRole;
  status: 'active' | 'disabled';
}

/** Owners first, then in the order of the roles. */
async function people({ store: { db } }: RouteParts): Promise<OperatingPerson[]> {
  const rows = await db
    .selectFrom('account')
    .leftJoin('operator', 'operator.account_id', 'account.id')
    .select(['account.id', 'account.email', 'account.status', 'account.role', 'operator.role as smaller'])
    .where((where) => where.or([where('account.role', '=', 'admin'), where('operator.role', 'is not', null)]))
    .orderBy('account.email')
    .execute();
  return rows
    .map(({ id, email, status, role: flag, smaller }) => ({
      id,
      email,
      status,
      role: flag === 'admin' ? 'owner' : (smaller ?? 'read'),
    }))
    .sort((a, b) => OPERATOR_ROLES.indexOf(a.role) - OPERATOR_ROLES.indexOf(b.role));
}

const MOST_SHOWN = 200;

async function tokens({ store: { db }, clock }: RouteParts) {
  const rows = await db
    .selectFrom('operator_token')
    .selectAll()
    .orderBy('created_at', 'desc')
    .limit(MOST_SHOWN)
    .execute();
  const emails = await emailsOf(
    db,
    rows.map(({ created_by }) => created_by),
  );
  return rows.map((row) => tokenItem(row, emails, clock.now()));
}

function tokenItem(row: OperatorToken, emails: ReadonlyMap<string, string>, now: number) {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    /** `op-…a1b2` */
    hint: row.token_hint,
    state:
      row.ended_at !== null
        ? ('ended' as const)
        : row.expires_at <= now
          ? ('expired' as const)
          : ('active' as const),
    networks: row.networks?.split('\n') ?? null,
    createdBy: emails.get(row.created_by) ?? row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    usedAt: row.used_at,
  };
}
