import type { CatalogSource, Model } from '../catalog/catalog.ts';
import type { PriceChange } from '../catalog/plans.ts';
import { priceRows, serviceTiers } from '../catalog/price-rows.ts';
import { StoredCatalog } from '../catalog/stored.ts';
import { readSite } from '../identity/sign-in/site.ts';
import type { AnnouncedModel, AnnouncedPrice } from '../outbox/events.ts';
import { makeMailChannel } from '../outbox/mail-channel.ts';
import { OutboxSender } from '../outbox/sender.ts';
import {
  PriceWatch,
  ReachedLimits,
  watchBalances,
  watchBudgets,
  watchTokens,
  type Announcement,
} from '../outbox/watch-accounts.ts';
import { leastLoss } from '../identity/sign-in/site.ts';
import { BackendWatch, watchCertificate, watchMargin } from '../outbox/watch-operation.ts';
import { makeWebhookChannel, type PausedWebhook, type WebhookRules } from '../outbox/webhook-channel.ts';
import { makeWebhooks, type Webhooks } from '../outbox/webhooks.ts';
import { DAY_MS } from '../std/calendar.ts';
import { formatUsd, nanoUsd } from '../std/money.ts';
import { FACTOR_ONE } from '../std/price-dimensions.ts';
import type { Pool } from '../upstream/pool.ts';
import type { Certificate } from './certificate.ts';
import type { PeriodicTask } from './periodic-tasks.ts';
import type { Services } from './services.ts';

/** The outbox: what is sent by mail and webhook, and what raises a notice. */
export interface MessageServices {
  readonly sender: OutboxSender;
  readonly webhooks: Webhooks;
  readonly reachedLimits: ReachedLimits;
}

/** The sender with its channels. It is stopped before the store closes. */
export function composeOutbox(services: Services, opened: AsyncDisposableStack): MessageServices {
  const { config, store, secret, clock, random, log, outbox, notices } = services;
  const { db } = store;
  const key = secret.key('webhooks');
  const rules: WebhookRules = { operatorMayBePrivate: config.operatorWebhooksMayBePrivate };
  const onPaused = ({ accountId, ...data }: PausedWebhook) =>
    notices.mail(db, { accountId, template: 'webhook.paused', data });
  const site = async () => ({ name: (await readSite(store)).siteName, url: config.publicUrl });
  const webhook = makeWebhookChannel({ db, key, rules, site, clock, log, onPaused });
  const mail = config.mail && makeMailChannel({ config: config.mail, site });
  const sender = new OutboxSender({ db, outbox, clock, log, channels: { webhook, ...(mail && { mail }) } });
  opened.defer(() => sender.stop());
  return {
    sender,
    webhooks: makeWebhooks({ db, key, rules, clock, random, durable: () => store.durable() }),
    reachedLimits: new ReachedLimits({ db, notices, clock }),
  };
}

export interface NoticedParts {
  readonly messages: MessageServices;
  readonly pool: Pool;
  readonly certificate: Certificate | undefined;
  readonly catalog: CatalogSource;
}

/** Every worker raises notices about what only it can see; notices about the store are raised by the first worker. */
export function messageTasks(
  { config, store, outbox, notices, clock }: Services,
  { messages: { sender, reachedLimits }, pool, certificate, catalog }: NoticedParts,
): PeriodicTask[] {
  const { db } = store;
  const backends = new BackendWatch({ db, notices });
  const parts = { db, notices, clock };
  const prices = new PriceWatch(parts);
  const ofEach: PeriodicTask[] = [
    { name: 'reached limits', everyMs: 5_000, run: () => reachedLimits.tell() },
    { name: 'state of backends', everyMs: 5_000, run: () => backends.check(pool.list()) },
  ];
  const ofFirst: PeriodicTask[] = [
    { name: 'outbox', everyMs: 1_000, run: () => sender.pass() },
    { name: 'old messages', everyMs: 60_000, run: () => outbox.sweep() },
    { name: 'low balances', everyMs: 15_000, maxTimeShare: 0.05, run: () => watchBalances(parts) },
    { name: 'used budgets', everyMs: 15_000, maxTimeShare: 0.05, run: () => watchBudgets(parts) },
    {
      name: 'announced prices',
      everyMs: 5_000,
      maxTimeShare: 0.05,
      run: async () => prices.tell(await announcements(catalog, clock.now())),
    },
    { name: 'expiring tokens', everyMs: 60_000, maxTimeShare: 0.05, run: () => watchTokens(parts) },
    {
      name: 'margin of the day',
      everyMs: 60_000,
      run: () => watchMargin({ ...parts, leastLoss: () => leastLoss(store) }),
    },
    {
      name: 'end of the certificate',
      everyMs: 600_000,
      run: () => watchCertificate(parts, certificate?.endsAt()),
    },
  ];
  return (config.worker ?? 0) === 0 ? [...ofEach, ...ofFirst] : ofEach;
}

/** The announcements of catalog plans that wait, or that ended in the last day. */
export async function announcements(catalog: CatalogSource, now: number): Promise<Announcement[]> {
  if (!(catalog instanceof StoredCatalog)) return [];
  const plans = await catalog.plans.since(now - DAY_MS);
  return plans.map((plan) => {
    const known = new Map<string | undefined, readonly AnnouncedModel[]>();
    return {
      ...plan,
      isCancelled: plan.state === 'cancelled',
      changesFor(group) {
        const changes = known.get(group) ?? (catalog.changesOf(plan, group) ?? []).map(announcedModel);
        known.set(group, changes);
        return changes;
      },
    };
  });
}

const MOST_PRICES = 12;

function announcedModel({ endpoint, model, name, before, after }: PriceChange): AnnouncedModel {
  const [was, is] = [pricesByName(before), pricesByName(after)];
  const prices = [...new Set([...was.keys(), ...is.keys()])].flatMap((key): AnnouncedPrice[] => {
    const [old, now] = [was.get(key), is.get(key)];
    const row = now ?? old;
    if (!row || old?.amount === now?.amount) return [];
    const { item, per, above, quality } = row;
    const named = { dimension: item, per, above_input_tokens: above ?? null, quality: quality ?? null };
    return [{ ...named, before_usd: usdOf(old?.amount), after_usd: usdOf(now?.amount) }];
  });
  const tiers = changedTiers(before, after);
  const change = before && after ? 'changed' : after ? 'new' : 'gone';
  return {
    model: `${endpoint}/${model}`,
    name,
    change,
    prices: prices.slice(0, MOST_PRICES),
    ...(tiers.length > 0 && { service_tiers: tiers }),
  };
}

function changedTiers(before: Model | undefined, after: Model | undefined) {
  const [was, is] = [before, after].map((model) => new Map(model ? serviceTiers(model) : []));
  const factorOf = (factors: typeof was, tier: string): number | null => {
    const factor = factors?.get(tier);
    return factor === undefined ? null : factor / FACTOR_ONE;
  };
  return [...new Set([...(was?.keys() ?? []), ...(is?.keys() ?? [])])]
    .map((tier) => ({ tier, before: factorOf(was, tier), after: factorOf(is, tier) }))
    .filter((one) => one.before !== one.after)
    .slice(0, MOST_PRICES);
}

function pricesByName(model: Model | undefined) {
  const rows = model ? priceRows(model) : [];
  return new Map(rows.map((row) => [`${row.item} ${row.above ?? ''} ${row.quality ?? ''}`, row]));
}

function usdOf(amount: number | undefined): string | null {
  return amount === undefined ? null : formatUsd(nanoUsd(amount));
}
