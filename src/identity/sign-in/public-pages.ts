import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { writeSetting } from './site.ts';

/** Whether anybody may see models, prices and status without an account. */
export interface PublicPageSettings {
  readonly open: boolean;
}

export const publicPagesSchema = z.strictObject({ open: z.boolean() });

const OPEN: PublicPageSettings = { open: true };
/** A setting of its own: a node of the version before refuses fields that it does not know in the others. */
const KEY = 'public_pages';

export async function readPublicPages({ db }: Pick<Store, 'db'>): Promise<PublicPageSettings> {
  const row = await db.selectFrom('setting').select('value').where('key', '=', KEY).executeTakeFirst();
  return row ? publicPagesSchema.parse(JSON.parse(row.value)) : OPEN;
}

export async function writePublicPages(
  store: Store,
  settings: PublicPageSettings,
  now: number,
): Promise<PublicPageSettings> {
  await writeSetting(store, KEY, settings, now);
  return settings;
}
