import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { z } from 'zod';
import { nanoUsd, parseUsd, type NanoUsd } from '../../std/money.ts';
import { jpegColours, pictureSize } from '../../std/picture-size.ts';
import type { Store } from '../../store/store.ts';
import { hasAdmin } from './setup.ts';

/** Settings of the whole console, made by an admin; in the store, so that they apply on every node. */
export interface SiteSettings {
  readonly siteName: string;
  readonly signUp: 'open' | 'closed' | 'invite';
  readonly topUpHint: string;
  /** What can be topped up by card at once. */
  readonly topUpAmounts: readonly string[];
  /** How to reach the operator; public. */
  readonly contact: string;
  /** Who issues the statements. */
  readonly issuer: StatementIssuer;
  readonly currency: { readonly code: string; readonly perUsd: string };
}

/** The operator as named on statements; each field may be empty. */
interface StatementIssuer {
  readonly name: string;
  /** The address, which may have several lines. */
  readonly address: string;
  readonly taxId: string;
}

export const siteSettingsSchema = z.strictObject({
  siteName: z.string().trim().min(1).max(60),
  signUp: z.enum(['open', 'closed', 'invite']),
  topUpHint: z.string().trim().max(1_000),
  topUpAmounts: z
    .array(
      z.string().regex(/^(?!0+(\.0*)?$)\d{1,4}(\.\d{2})?$/, {
        error: 'an amount is at most 9999.99, like 25 or 12.50',
      }),
    )
    .min(1)
    .max(8),
  contact: z.string().trim().max(200),
  issuer: z.strictObject({
    name: z.string().trim().max(100),
    address: z.string().trim().max(300),
    taxId: z.string().trim().max(50),
  }),
  currency: z.strictObject({
    code: z.string().regex(/^[A-Z]{3}$/, { error: 'a currency is three capital letters, like USD' }),
    perUsd: z
      .string()
      .regex(/^(?!0+(\.0*)?$)\d{1,9}(\.\d{1,9})?$/, { error: 'a rate is a decimal number above zero' }),
  }),
});

const DEFAULTS: SiteSettings = {
  siteName: 'Tollgate',
  signUp: 'open',
  topUpHint: '',
  topUpAmounts: ['10.00', '25.00', '50.00', '100.00'],
  contact: '',
  issuer: { name: '', address: '', taxId: '' },
  currency: { code: 'USD', perUsd: '1' },
};

const KEY = 'site';

export async function readSite(store: Store): Promise<SiteSettings> {
  const row = await store.db.selectFrom('setting').select('value').where('key', '=', KEY).executeTakeFirst();
  if (!row) return DEFAULTS;
  return siteSettingsSchema.parse({ ...DEFAULTS, ...(JSON.parse(row.value) as object) });
}

/** How to sign up now; `setup`: not until the setup, or the command line, has created the first administrator. */
export async function signUpMode(store: Store): Promise<SiteSettings['signUp'] | 'setup'> {
  return (await hasAdmin(store.db)) ? (await readSite(store)).signUp : 'setup';
}

export async function writeSite(
  store: Store,
  patch: Partial<SiteSettings>,
  now: number,
): Promise<SiteSettings> {
  const settings = siteSettingsSchema.parse({ ...(await readSite(store)), ...patch });
  await writeSetting(store, KEY, settings, now);
  return settings;
}

export async function writeSetting(store: Store, key: string, settings: object, now: number): Promise<void> {
  const value = JSON.stringify(settings);
  await store.db
    .insertInto('setting')
    .values({ key, value, updated_at: now })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value, updated_at: now }))
    .execute();
  await store.durable();
}

/** Whether anybody may see models, prices and status without an account. */
interface PublicPageSettings {
  readonly open: boolean;
}

export const publicPagesSchema = z.strictObject({ open: z.boolean() });

const OPEN_PAGES: PublicPageSettings = { open: true };
/** A setting of its own: nodes of the previous version refuse unknown fields in the other settings. */
const PUBLIC_PAGES_KEY = 'public_pages';

export async function readPublicPages({ db }: Pick<Store, 'db'>): Promise<PublicPageSettings> {
  return await readSetting(db, PUBLIC_PAGES_KEY, publicPagesSchema, OPEN_PAGES);
}

export async function writePublicPages(
  store: Store,
  settings: PublicPageSettings,
  now: number,
): Promise<PublicPageSettings> {
  await writeSetting(store, PUBLIC_PAGES_KEY, settings, now);
  return settings;
}

const MAX_LOGO_BYTES = 100_000;
const MAX_LOGO_EDGE = 2_000;

/** The operator's mark on statements: a JPEG, which a PDF holds as it is. Empty: there is none. */
export const logoSchema = z.strictObject({
  jpeg: z
    .base64()
    .max(Math.ceil(MAX_LOGO_BYTES / 3) * 4)
    .refine((text) => text === '' || isLogo(Buffer.from(text, 'base64')), {
      error: 'a logo is a JPEG in RGB of at most 2000 by 2000 pixels and 100 kB',
    }),
});

type LogoSettings = z.output<typeof logoSchema>;

const LOGO_KEY = 'logo';
const NO_LOGO: LogoSettings = { jpeg: '' };

/** The name of the present logo, under which {@link readLogo} finds it; `undefined`: there is none. */
export async function logoName({ db }: Pick<Store, 'db'>): Promise<string | undefined> {
  const row = await db.selectFrom('setting').select('value').where('key', '=', LOGO_KEY).executeTakeFirst();
  return row && (z.object({ name: z.string() }).parse(JSON.parse(row.value)).name || undefined);
}

export async function readLogo({ db }: Pick<Store, 'db'>, name: string | undefined): Promise<LogoSettings> {
  return name === undefined ? NO_LOGO : await readSetting(db, keyOfLogo(name), logoSchema, NO_LOGO);
}

/** A logo is kept under a name of its own for as long as a statement was issued with it: statements never change. */
export async function writeLogo(store: Store, logo: LogoSettings, now: number): Promise<LogoSettings> {
  const before = await logoName(store);
  const name = logo.jpeg === '' ? '' : createHash('sha256').update(logo.jpeg).digest('hex').slice(0, 32);
  if (name !== '') await writeSetting(store, keyOfLogo(name), logo, now);
  await writeSetting(store, LOGO_KEY, { name }, now);
  if (before !== undefined && before !== name) {
    await store.db
      .deleteFrom('setting')
      .where('key', '=', keyOfLogo(before))
      .where(sql<boolean>`NOT EXISTS (SELECT 1 FROM statement WHERE content LIKE ${`%"logo":"${before}"%`})`)
      .execute();
  }
  return logo;
}

function keyOfLogo(name: string): string {
  return `${LOGO_KEY}:${name}`;
}

function isLogo(bytes: Buffer): boolean {
  const { width, height } = pictureSize(bytes) ?? { width: 0, height: 0 };
  const hasSize = width > 0 && width <= MAX_LOGO_EDGE && height <= MAX_LOGO_EDGE;
  return hasSize && jpegColours(bytes) === 3 && bytes.length <= MAX_LOGO_BYTES;
}

/** From which sum on a loss is told of: a fraction of a cent needs nobody's attention. */
interface AttentionSettings {
  readonly lossUsd: string;
}

export const attentionSchema = z.strictObject({
  lossUsd: z
    .string()
    .regex(/^\d{1,6}(\.\d{1,9})?$/, { error: 'an amount is a decimal number of at most 999999' }),
});

const USUAL_ATTENTION: AttentionSettings = { lossUsd: '1.00' };
const ATTENTION_KEY = 'attention';

export async function readAttention({ db }: Pick<Store, 'db'>): Promise<AttentionSettings> {
  return await readSetting(db, ATTENTION_KEY, attentionSchema, USUAL_ATTENTION);
}

/** The least loss that is told of: never less than one nano-dollar. */
export async function leastLoss(store: Pick<Store, 'db'>): Promise<NanoUsd> {
  return nanoUsd(Math.max(1, parseUsd((await readAttention(store)).lossUsd) ?? 0));
}

export async function writeAttention(
  store: Store,
  settings: AttentionSettings,
  now: number,
): Promise<AttentionSettings> {
  await writeSetting(store, ATTENTION_KEY, settings, now);
  return settings;
}

async function readSetting<Settings>(
  db: Store['db'],
  key: string,
  schema: z.ZodType<Settings>,
  usual: Settings,
): Promise<Settings> {
  const row = await db.selectFrom('setting').select('value').where('key', '=', key).executeTakeFirst();
  return row ? schema.parse(JSON.parse(row.value)) : usual;
}
