import { z } from 'zod';
import { accountNamed, emailsOf } from '../../activity/accounts.ts';
import { AUDIT_TABLE, auditFilter, type AuditRow } from '../../activity/audit.ts';
import { longestRequestMs } from '../../catalog/longest-request.ts';
import {
  publicPagesSchema,
  readPublicPages,
  writePublicPages,
  readSite,
  siteSettingsSchema,
  writeSite,
} from '../../identity/sign-in/site.ts';
import {
  readWelcomeCredit,
  welcomeCreditSchema,
  writeWelcomeCredit,
} from '../../identity/sign-in/welcome-credit.ts';
import type { SearchedPage, Millis } from '../contract.ts';
import { emptyBody, route } from '../route.ts';
import { findRows, orderSchema, searchedPage, tableFields } from '../table-query.ts';

/** The installation itself: the ledger check, the audit log and the settings. */
export const siteRoutes = [
  route('POST /api/console/admin/ledger/verify', {
    who: 'admin',
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
    who: 'admin',
    compressed: true,
    query: z.strictObject({
      ...tableFields,
      sort: orderSchema(['time', 'actor', 'action']),
      /** An account's id or e-mail address, or `cli`. */
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
      return searchedPage(page, (row) => ({
        id: row.id,
        at: row.at,
        actor: row.actor,
        actorEmail: emails.get(row.actor) ?? null,
        action: row.action,
        target: row.target,
        targetEmail: emails.get(row.target) ?? null,
        detail: JSON.parse(row.detail) as Record<string, unknown>,
      }));
    },
  }),
  route('GET /api/console/admin/settings', {
    who: 'admin',
    handle: ({ store }) => readSite(store),
  }),
  route('GET /api/console/admin/welcome-credit', {
    who: 'admin',
    handle: ({ store }) => readWelcomeCredit(store.db),
  }),
  route('PUT /api/console/admin/welcome-credit', {
    who: 'admin',
    confirmed: true,
    audit: 'settings.welcome-credit',
    body: welcomeCreditSchema,
    handle: ({ store, clock }, { body }) => writeWelcomeCredit(store, body, clock.now()),
  }),
  route('GET /api/console/admin/public-pages', {
    who: 'admin',
    handle: ({ store }) => readPublicPages(store),
  }),
  route('PUT /api/console/admin/public-pages', {
    who: 'admin',
    audit: 'settings.public-pages',
    body: publicPagesSchema,
    handle: ({ store, clock }, { body }) => writePublicPages(store, body, clock.now()),
  }),
  route('PATCH /api/console/admin/settings', {
    who: 'admin',
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
  action: string;
  target: string;
  /** Of the account that it was about, if it was about one. */
  targetEmail: string | null;
  detail: Record<string, unknown>;
}
