import { z } from 'zod';
import { emailsOf } from '../../activity/accounts.ts';
import { auditPage } from '../../activity/audit.ts';
import { readSite, siteSettingsSchema, writeSite, type SiteSettings } from '../../identity/sign-in/site.ts';
import { limitOf, numberCursor, pageOf, pagingFields } from '../paging.ts';
import type { RouteParts } from '../parts.ts';
import type { RouteHandlers } from '../visit.ts';

type SiteRoutes =
  | 'POST /api/console/admin/ledger/verify'
  | 'GET /api/console/admin/audit'
  | `${'GET' | 'PATCH'} /api/console/admin/settings`;

/** The installation itself: the ledger check, the audit log and the settings. */
export function siteRoutes(parts: RouteParts): Pick<RouteHandlers, SiteRoutes> {
  const { store, reader, clock } = parts;
  return {
    'POST /api/console/admin/ledger/verify': {
      body: z.strictObject({}),
      async handle() {
        const at = clock.now();
        const { checked, breaches } = await parts.ledger.verify();
        return {
          ok: breaches.length === 0,
          at,
          durationMs: clock.now() - at,
          checked: { ...checked },
          breaches: breaches.map(({ invariant, subject, detail }) => ({ invariant, subject, detail })),
        };
      },
    },
    'GET /api/console/admin/audit': {
      query: z.strictObject({
        ...pagingFields,
        actor: z.string().max(64).optional(),
        action: z.string().max(64).optional(),
      }),
      async handle({ query }) {
        const limit = limitOf(query);
        const page = { before: numberCursor(query.cursor), limit: limit + 1 };
        const rows = await auditPage({ db: store.db, reader }, query, page);
        const emails = await emailsOf(
          store.db,
          rows.map((row) => row.actor),
        );
        return pageOf(rows, limit, {
          item: (row) => ({
            id: row.id,
            at: row.at,
            actor: row.actor,
            actorEmail: emails.get(row.actor) ?? null,
            action: row.action,
            target: row.target,
            detail: JSON.parse(row.detail) as Record<string, unknown>,
          }),
          cursor: (row) => String(row.id),
        });
      },
    },
    'GET /api/console/admin/settings': { handle: async () => settingsOf(await readSite(store)) },
    'PATCH /api/console/admin/settings': {
      body: siteSettingsSchema.partial(),
      async handle({ body }) {
        const patch = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
        return settingsOf(await writeSite(store, patch, clock.now()));
      },
    },
  };
}

function settingsOf({ siteName, signUp, topUpHint, contact, currency }: SiteSettings) {
  return { siteName, signUp, topUpHint, contact, currency: { ...currency } };
}
