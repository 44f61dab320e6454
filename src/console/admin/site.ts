import { z } from 'zod';
import { accountNamed, emailsOf } from '../../activity/accounts.ts';
import { type AuditRow } from '../../activity/audit.ts';
import { operatorTokenNames } from '../../identity/accounts/operators.ts';
import { longestRequestMs } from '../../catalog/longest-request.ts';
import {
  attentionSchema,
  logoName,
  logoSchema,
  publicPagesSchema,
  readAttention,
  readLogo,
  readPublicPages,
  writeAttention,
  writePublicPages,
  readSite,
  siteSettingsSchema,
  writeLogo,
  writeSite,
} from '../../identity/sign-in/site.ts';
import {
  readWelcomeCredit,
  welcomeCreditSchema,
  writeWelcomeCredit,
} from '../../identity/sign-in/welcome-credit.ts';
import type { SearchedPage, Millis } from '../contract.ts';
import { emptyBody, MEGABYTE, route } from '../route.ts';
import { findRows, orderSchema, searchedPage, tableFields } from '../table-query.ts';
import { sql } from 'kysely';
import {
  anyContains,
  emailIn,
  equals,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from '../../activity/table-page.ts';

/** The installation itself: the ledger check, the audit log and the settings. */
export const siteRoutes = [
  route('POST /api/console/admin/ledger/verify', {
    who: 'operator',
    may: 'check_books',
    summary: 'Check the books',
    audit: 'ledger.verify',
    body: emptyBody,
    async handle({ clock, ledger, catalog }) {
      const at = clock.now();
      const { checked, breaches } = await ledger.verify({
        longestRequestMs: longestRequestMs(catalog.current()),
      });
      return {
        ok: breaches.length === 0,
        at,
        durationMs: clock.now() - at,
        checked: { ...checked },
        breaches: breaches.map(({ invariant, subject, detail }) => ({ invariant, subject, detail })),
      };
    },
  }),
  route('GET /api/console/admin/audit', {
    who: 'operator',
    may: 'see_business',
    summary: 'List the audit log',
    compressed: true,
    query: z.strictObject({
      ...tableFields,
      sort: orderSchema(['time', 'actor', 'action']),
      /** An account's id or email address, or `cli`. */
      actor: z.string().max(320).optional(),
      action: z.string().max(64).optional(),
    }),
    async handle(parts, { query }): Promise<SearchedPage<AdminAuditItem>> {
      const { db } = parts.store;
      const actor = query.actor && (await accountNamed(db, query.actor));
      const page = await findRows<AuditRow>(parts, AUDIT_TABLE, auditFilter({ ...query, actor }), query);
      const emails = await emailsOf(
        db,
        page.rows.flatMap((row) => [row.actor, row.target]),
      );
      const tokens = await operatorTokenNames(
        db,
        page.rows.flatMap((row) => [row.actor, row.target]),
      );
      return searchedPage(page, (row) => ({
        id: row.id,
        at: row.at,
        actor: row.actor,
        actorEmail: emails.get(row.actor) ?? null,
        actorToken: tokens.get(row.actor) ?? null,
        action: row.action,
        target: row.target,
        targetEmail: emails.get(row.target) ?? null,
        targetToken: tokens.get(row.target) ?? null,
        detail: JSON.parse(row.detail) as Record<string, unknown>,
      }));
    },
  }),
  route('GET /api/console/admin/settings', {
    who: 'operator',
    may: 'see_business',
    summary: 'Get the settings',
    handle: ({ store }) => readSite(store),
  }),
  route('GET /api/console/admin/welcome-credit', {
    who: 'operator',
    may: 'see_business',
    summary: 'Get the welcome credit',
    handle: ({ store }) => readWelcomeCredit(store.db),
  }),
  route('PUT /api/console/admin/welcome-credit', {
    who: 'operator',
    may: 'change_settings',
    summary: 'Change the welcome credit',
    confirmed: true,
    audit: 'settings.welcome-credit',
    body: welcomeCreditSchema,
    handle: ({ store, clock }, { body }) => writeWelcomeCredit(store, body, clock.now()),
  }),
  route('GET /api/console/admin/public-pages', {
    who: 'operator',
    may: 'see_business',
    summary: 'Get which pages are public',
    handle: ({ store }) => readPublicPages(store),
  }),
  route('PUT /api/console/admin/public-pages', {
    who: 'operator',
    may: 'change_settings',
    summary: 'Change which pages are public',
    audit: 'settings.public-pages',
    body: publicPagesSchema,
    handle: ({ store, clock }, { body }) => writePublicPages(store, body, clock.now()),
  }),
  route('GET /api/console/admin/logo', {
    who: 'operator',
    may: 'see_business',
    summary: 'Get the logo on statements',
    handle: async ({ store }) => readLogo(store, await logoName(store)),
  }),
  route('PUT /api/console/admin/logo', {
    who: 'operator',
    may: 'change_settings',
    summary: 'Change the logo on statements',
    audit: 'settings.change',
    maxBytes: MEGABYTE,
    body: logoSchema,
    handle: ({ store, clock }, { body }) => writeLogo(store, body, clock.now()),
  }),
  route('GET /api/console/admin/attention-settings', {
    who: 'operator',
    may: 'see_business',
    summary: 'Get from which sum on a loss needs attention',
    handle: ({ store }) => readAttention(store),
  }),
  route('PUT /api/console/admin/attention-settings', {
    who: 'operator',
    may: 'change_settings',
    summary: 'Change from which sum on a loss needs attention',
    audit: 'settings.attention',
    body: attentionSchema,
    handle: ({ store, clock }, { body }) => writeAttention(store, body, clock.now()),
  }),
  route('PATCH /api/console/admin/settings', {
    who: 'operator',
    may: 'change_settings',
    summary: 'Change the settings',
    audit: 'settings.change',
    body: siteSettingsSchema.partial(),
    async handle({ store, clock }, { body }) {
      const patch = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
      return await writeSite(store, patch, clock.now());
    },
  }),
];

interface AdminAuditItem {
  id: number;
  at: Millis;
  actor: string;
  actorEmail: string | null;
  /** The name of an operator token. */
  actorToken: string | null;
  action: string;
  target: string;
  /** The address of the account that it was about, if it was about one. */
  targetEmail: string | null;
  /** The name of the operator token that it was about. */
  targetToken: string | null;
  detail: Record<string, unknown>;
}

interface AuditFilter {
  /** An account's id, or `cli`. */
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  /** Part of the action, of whom it was about, of the details, or of an email address. */
  readonly search?: string | undefined;
}

/** Written in the order of time, so the number of a row is its place. */
export const AUDIT_TABLE: ListedTable = {
  from: sql`audit AS t`,
  columns: sql`t.*`,
  time: sql`t.at`,
  mark: [numberColumn(sql`t.id`)],
  sorted: {
    actor: textColumn(sql`coalesce((SELECT a.email FROM account a WHERE a.id = t.actor), t.actor)`),
    action: textColumn(sql`t.action`),
  },
};

export function auditFilter({ actor, action, search }: AuditFilter): TableFilter {
  const columns = [sql`t.action`, sql`t.actor`, sql`t.target`, sql`t.detail`];
  const emails = [emailIn('t.actor'), emailIn('t.target')];
  return {
    where: [...equals('t.actor', actor), ...equals('t.action', action)],
    checks: search === undefined ? [] : [anyContains(search, [...columns, ...emails])],
  };
}
