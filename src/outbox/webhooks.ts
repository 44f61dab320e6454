import type { Kysely } from 'kysely';
import { hintOf, seal, unseal } from '../catalog/seal.ts';
import type { Clock } from '../std/clock.ts';
import { orAborted } from '../std/deadlines.ts';
import { Fault } from '../std/fault.ts';
import type { Random } from '../std/ids.ts';
import { publicTarget } from '../std/addresses.ts';
import { lockRow } from '../store/row-lock.ts';
import type { Schema } from '../store/schema.ts';
import type { WebhookRow } from '../store/schema-services.ts';
import {
  chatAddressMistake,
  isChatFormat,
  shownChatAddress,
  type ChatLanguage,
  type WebhookFormat,
} from './chat-formats.ts';
import { ACCOUNT_EVENTS, OPERATOR, OPERATOR_EVENTS, type EventType } from './events.ts';
import { giveUpMessages, newWebhookSecret, type WebhookRules } from './webhook-channel.ts';

/** The addresses that an account, or the operator, wants to be told at. Each call sees only those of its owner. */
export interface Webhooks {
  list(owner: string): Promise<WebhookView[]>;
  /** The secret is returned here and never again; of a chat tool there is none but its address. Throws `invalid_field`. */
  add(owner: string, wanted: WantedWebhook): Promise<{ webhook: WebhookView; secret: string | undefined }>;
  change(owner: string, id: string, events: readonly string[]): Promise<WebhookView>;
  /** A new secret; for a day messages are signed with the old one too. */
  rotate(owner: string, id: string): Promise<{ webhook: WebhookView; secret: string }>;
  /** Lets a paused one be called again. */
  resume(owner: string, id: string): Promise<WebhookView>;
  remove(owner: string, id: string): Promise<void>;
}

interface WantedWebhook {
  readonly url: string;
  readonly events: readonly string[];
  readonly format?: WebhookFormat;
  /** The language of messages to a chat tool. */
  readonly language?: ChatLanguage | undefined;
}

export interface WebhookView {
  readonly id: string;
  /** The address; a chat tool's is shown without the part that lets others write there. */
  readonly url: string;
  readonly format: WebhookFormat;
  readonly events: readonly EventType[];
  /** The end of its secret; of a chat tool the end of its address. */
  readonly hint: string;
  readonly createdAt: number;
  /** Until when the secret before this one signs too. */
  readonly oldUntil: number | undefined;
  readonly lastAt: number | undefined;
  readonly lastError: string | undefined;
  readonly failingSince: number | undefined;
  /** It gets no events until it is resumed. */
  readonly paused: { readonly at: number; readonly reason: string } | undefined;
}

interface WebhooksParts {
  readonly db: Kysely<Schema>;
  durable(): Promise<void>;
  /** Encrypts their secrets. */
  readonly key: Uint8Array;
  readonly rules: WebhookRules;
  readonly clock: Clock;
  readonly random: Random;
}

export const MAX_WEBHOOKS = 5;
const MAX_URL = 500;
const BOTH_SIGN_MS = 86_400_000;
const LOOKUP_MS = 3_000;

export function makeWebhooks(parts: WebhooksParts): Webhooks {
  const { db, key, clock } = parts;
  const own = (owner: string, id: string) =>
    db.updateTable('webhook').where('id', '=', id).where('account_id', '=', owner).returningAll();
  const changed = async (row: WebhookRow | undefined): Promise<WebhookView> => {
    if (!row) throw noSuchWebhook();
    await parts.durable();
    return viewOf(row);
  };
  return {
    list: async (owner) => (await rowsOf(db, owner)).map(viewOf),
    async add(owner, wanted) {
      const { row, secret } = await newWebhook(parts, owner, wanted);
      const inserted = await db.transaction().execute(async (tx) => {
        await lockRow(tx, 'webhook_lock', clock.now());
        if ((await rowsOf(tx, owner)).length >= MAX_WEBHOOKS) throw tooMany();
        return await tx
          .insertInto('webhook')
          .values({ ...row, created_at: clock.now() })
          .returningAll()
          .executeTakeFirstOrThrow();
      });
      return { webhook: await changed(inserted), secret };
    },
    change: async (owner, id, events) =>
      await changed(
        await own(owner, id)
          .set({ events: checkedEvents(owner, events) })
          .executeTakeFirst(),
      ),
    async rotate(owner, id) {
      const before = (await rowsOf(db, owner)).find((row) => row.id === id);
      if (!before) throw noSuchWebhook();
      if (isChatFormat(before.format)) throw hasNoSecret();
      const secret = newWebhookSecret();
      const old = { old_sealed: before.sealed, old_until: clock.now() + BOTH_SIGN_MS };
      const row = await own(owner, id)
        .set({ ...sealed(key, before, secret), ...old })
        .executeTakeFirst();
      return { webhook: await changed(row), secret };
    },
    resume: async (owner, id) =>
      await changed(
        await own(owner, id)
          .set({ paused_at: null, paused_reason: null, failing_since: null, failures: 0 })
          .executeTakeFirst(),
      ),
    async remove(owner, id) {
      const { numDeletedRows } = await db
        .deleteFrom('webhook')
        .where('id', '=', id)
        .where('account_id', '=', owner)
        .executeTakeFirstOrThrow();
      if (numDeletedRows === 0n) throw noSuchWebhook();
      await giveUpMessages(db, { webhookId: id, now: clock.now() });
      await parts.durable();
    },
  };
}

async function newWebhook(parts: WebhooksParts, owner: string, wanted: WantedWebhook) {
  const { format = 'standard', language } = wanted;
  const url = await checkedUrl(parts, owner, wanted);
  const events = checkedEvents(owner, wanted.events);
  const id = `whk_${parts.random.text(20)}`;
  const isChat = isChatFormat(format);
  const secret = isChat ? undefined : newWebhookSecret();
  const row = {
    id,
    account_id: owner,
    url: isChat ? shownChatAddress(new URL(url), format) : url,
    events,
    ...(isChat && { format, language: language ?? null }),
    ...sealed(parts.key, { id, url }, secret ?? url),
  };
  return { row, secret };
}

/** Encrypts the secrets anew, for another secret of the server. Those that the old one cannot open are left as they are. */
export async function resealWebhooks(
  db: Kysely<Schema>,
  { from, to }: { readonly from: Uint8Array; readonly to: Uint8Array },
): Promise<void> {
  for (const row of await db.selectFrom('webhook').selectAll().execute()) {
    const secret = unseal(from, row.id, row.sealed);
    const old = row.old_sealed === null ? undefined : unseal(from, row.id, row.old_sealed);
    if (secret === undefined) continue;
    const changes = {
      ...sealed(to, row, secret),
      old_sealed: old === undefined ? null : sealed(to, row, old).sealed,
    };
    await db.updateTable('webhook').set(changes).where('id', '=', row.id).execute();
  }
}

async function rowsOf(db: Kysely<Schema>, owner: string): Promise<WebhookRow[]> {
  return await db
    .selectFrom('webhook')
    .selectAll()
    .where('account_id', '=', owner)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

function sealed(key: Uint8Array, { id, url }: Pick<WebhookRow, 'id' | 'url'>, secret: string) {
  const { origin } = new URL(url);
  return { sealed: seal(key, { name: id, origin }, secret), hint: hintOf(secret) };
}

/** Reports mistakes at once where possible; the address is checked again for every message. */
async function checkedUrl(
  { rules }: WebhooksParts,
  owner: string,
  { url: text, format = 'standard' }: WantedWebhook,
): Promise<string> {
  const refuse = (reason: string): Fault => new Fault('invalid_field', reason, { param: 'url' });
  const url = text.length <= MAX_URL && URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw refuse('A webhook needs an https address.');
  if (url.username || url.password) throw refuse('The address must not contain a user or a password.');
  url.hash = '';
  const mistake = isChatFormat(format) ? chatAddressMistake(format, url) : undefined;
  if (mistake !== undefined) throw refuse(mistake);
  if (owner === OPERATOR && rules.operatorMayBePrivate) return url.href;
  const target = await orAborted(publicTarget(url, rules), AbortSignal.timeout(LOOKUP_MS)).catch(
    () => 'the name cannot be resolved',
  );
  if (typeof target === 'string') throw refuse(`A webhook needs a public https address: ${target}.`);
  return url.href;
}

function checkedEvents(owner: string, events: readonly string[]): string {
  const offered: readonly EventType[] = owner === OPERATOR ? OPERATOR_EVENTS : ACCOUNT_EVENTS;
  const unknown = events.find((event) => !offered.some((one) => one === event));
  if (unknown !== undefined || events.length === 0)
    throw new Fault('invalid_field', `Choose at least one of: ${offered.join(', ')}.`, { param: 'events' });
  return JSON.stringify(offered.filter((one) => events.includes(one)));
}

export function eventsOf({ events }: Pick<WebhookRow, 'events'>): EventType[] {
  return JSON.parse(events) as EventType[];
}

function viewOf(row: WebhookRow): WebhookView {
  return {
    id: row.id,
    url: row.url,
    format: isChatFormat(row.format) ? row.format : 'standard',
    events: eventsOf(row),
    hint: row.hint,
    createdAt: row.created_at,
    oldUntil: row.old_until ?? undefined,
    lastAt: row.last_at ?? undefined,
    lastError: row.last_error ?? undefined,
    failingSince: row.failing_since ?? undefined,
    paused: row.paused_at === null ? undefined : { at: row.paused_at, reason: row.paused_reason ?? '' },
  };
}

function tooMany(): Fault {
  return new Fault('invalid_field', `There may be ${MAX_WEBHOOKS} webhooks at most. Remove one first.`, {
    param: 'url',
  });
}

function hasNoSecret(): Fault {
  return new Fault(
    'conflict',
    'A chat tool gets no signature. If others know its address, make a new one there and add it.',
  );
}

function noSuchWebhook(): Fault {
  return new Fault('not_found', 'There is no such webhook.');
}
