import {
  brokenRules,
  endingCodes,
  endingInvites,
  failedMessages,
  failedPayments,
  lossesBy,
  refusalsByReason,
  troubledWebhooks,
  unsettledHolds,
} from '../../activity/attention.ts';
import { runningOut, type RunningOut } from '../../activity/running-out.ts';
import { operatorMay } from '../../identity/accounts/roles.ts';
import { leastLoss } from '../../identity/sign-in/site.ts';
import { DAY_MS, dayOf } from '../../std/calendar.ts';
import type { NanoUsd } from '../../std/money.ts';
import type { UpstreamStatus } from '../../upstream/pool.ts';
import { usd } from '../amounts.ts';
import type { Millis, Usd } from '../contract.ts';
import type { RouteParts } from '../parts.ts';
import { recentOf } from '../recent-answers.ts';
import { route } from '../route.ts';
import { backendState } from './backends.ts';

/** The same as for the first webhook about it. */
const CERTIFICATE_ENDS_WITHIN_MS = 14 * DAY_MS;
const MOST_REASONS = 5;
const MOST_LOSSES = 3;
const MOST_BATCHES = 3;

/** What the operator should look at, the most urgent first. */
export const attentionRoutes = [
  route('GET /api/console/admin/attention', {
    who: 'operator',
    may: 'see_customers',
    summary: 'List what needs attention',
    async handle(parts, { operator: { role } }) {
      const now = parts.clock.now();
      const least = await leastLoss(parts.store);
      const all = await recentOf(parts.store).get(`attention from ${least}`, now, () =>
        computeAttention(parts, { now, least }),
      );
      if (operatorMay(role, 'see_business')) return all;
      return { ...all, items: all.items.filter(({ kind }) => kind !== 'margin_below_zero') };
    },
  }),
];

interface Asked {
  readonly now: number;
  /** The least loss that is told of. */
  readonly least: NanoUsd;
}

async function computeAttention(parts: RouteParts, { now, least }: Asked) {
  const groups = await Promise.all([
    serverItems(parts, now),
    moneyItems(parts, { now, least }),
    messageItems(parts, now),
    refusalItems(parts, now),
    endingItems(parts, now),
  ]);
  const items = [...backendItems(parts), ...groups.flat()];
  return {
    items: [
      ...items.filter(({ urgency }) => urgency === 'high'),
      ...items.filter(({ urgency }) => urgency === 'low'),
    ],
    at: now,
  };
}

type AttentionItem = { urgency: 'high' | 'low' } & AttentionSubject;

type AttentionSubject =
  | { kind: 'catalog_rejected'; error: string }
  | { kind: 'ledger_breach'; rules: string }
  /** `reason`: the kind of the last failure. */
  | { kind: 'backend_down'; backend: string; reason: string | null }
  | { kind: 'backend_key_refused'; backend: string }
  | { kind: 'backend_out_of_credit'; backend: string }
  | { kind: 'backend_unusable'; backend: string; problem: string }
  | { kind: 'backend_test_failed'; backend: string }
  | { kind: 'backend_paused'; backend: string }
  | { kind: 'certificate_ends'; at: Millis }
  | { kind: 'settlements_waiting'; count: number }
  /** Over seven days. */
  | { kind: 'margin_below_zero'; by: 'model' | 'backend'; key: string; lossUsd: Usd }
  /** `more`: further accounts of which the same is true. */
  | { kind: 'balance_empty'; accountId: string; email: string; more: number }
  | { kind: 'balance_ends'; accountId: string; email: string; balanceUsd: Usd; perDayUsd: Usd; more: number }
  | { kind: 'payments_failed'; count: number }
  | { kind: 'payment_problems'; count: number }
  | { kind: 'messages_failed'; count: number; channel: 'mail' | 'webhook' }
  | { kind: 'webhook_paused'; url: string }
  | { kind: 'webhook_secret_ends'; url: string; at: Millis }
  /** Over 24 hours. */
  | { kind: 'calls_refused'; reason: string; count: number }
  | { kind: 'invites_end'; count: number; at: Millis }
  | { kind: 'codes_end'; count: number; batch: string; at: Millis };

function high(subject: AttentionSubject): AttentionItem {
  return { urgency: 'high', ...subject };
}

function low(subject: AttentionSubject): AttentionItem {
  return { urgency: 'low', ...subject };
}

async function serverItems(parts: RouteParts, now: number): Promise<AttentionItem[]> {
  const at = { db: parts.store.db, reader: parts.reader };
  const [rules, holds] = await Promise.all([brokenRules(at), unsettledHolds(at, now)]);
  const { error } = parts.catalog.status();
  const endsAt = parts.operation.certificateEndsAt();
  const waiting = parts.operation.settlementsWaiting() + holds;
  return [
    ...(rules === undefined ? [] : [high({ kind: 'ledger_breach', rules })]),
    ...(error === undefined ? [] : [high({ kind: 'catalog_rejected', error })]),
    ...(endsAt === undefined || endsAt > now + CERTIFICATE_ENDS_WITHIN_MS
      ? []
      : [high({ kind: 'certificate_ends', at: endsAt })]),
    ...(waiting === 0 ? [] : [high({ kind: 'settlements_waiting', count: waiting })]),
  ];
}

function backendItems(parts: RouteParts): AttentionItem[] {
  return parts.backends.list().flatMap((status) => backendItem(parts, status));
}

/** One sentence for each backend: what is wrong with it first of all. */
function backendItem({ catalog }: RouteParts, status: UpstreamStatus): AttentionItem[] {
  const { name: backend, lastFailure, hasFailedTest, resting } = status;
  const config = catalog.current().upstreams.get(backend);
  if (config?.paused === true) return [low({ kind: 'backend_paused', backend })];
  if (config?.problem !== undefined)
    return [high({ kind: 'backend_unusable', backend, problem: config.problem })];
  // A refusal of its key stays true until something was served again; one of several keys may rest alone.
  const isTroubled = status.state !== 'ok' || resting.length > 0;
  if (isTroubled && lastFailure?.reason === 'unauthorized')
    return [high({ kind: 'backend_key_refused', backend })];
  if (isTroubled && lastFailure?.reason === 'out_of_credit')
    return [high({ kind: 'backend_out_of_credit', backend })];
  if (backendState(catalog, status) !== 'closed')
    return [high({ kind: 'backend_down', backend, reason: lastFailure?.reason ?? null })];
  return hasFailedTest ? [high({ kind: 'backend_test_failed', backend })] : [];
}

async function moneyItems(parts: RouteParts, { now, least }: Asked): Promise<AttentionItem[]> {
  const at = { db: parts.store.db, reader: parts.reader };
  const sums = { db: parts.store.db, reader: parts.reader.sums };
  const losing = { since: dayOf(now - 6 * DAY_MS), least, most: MOST_LOSSES };
  const [ends, failed, byModel, byBackend] = await Promise.all([
    runningOut(at, now),
    failedPayments(at, now),
    lossesBy(sums, 'model', losing),
    lossesBy(sums, 'backend', losing),
  ]);
  const losses = [
    ...byModel.map((row) => ({ by: 'model' as const, ...row })),
    ...byBackend.map((row) => ({ by: 'backend' as const, ...row })),
  ];
  return [
    ...losses.map(({ by, key, loss }) => high({ kind: 'margin_below_zero', by, key, lossUsd: usd(loss) })),
    ...balanceItems(ends),
    ...(failed.payments === 0 ? [] : [low({ kind: 'payments_failed', count: failed.payments })]),
    ...(failed.problems === 0 ? [] : [high({ kind: 'payment_problems', count: failed.problems })]),
  ];
}

/** One sentence for all whose balance is empty and one for all whose balance ends, named after who spends most. */
function balanceItems(ends: readonly RunningOut[]): AttentionItem[] {
  const empty = ends.filter(({ balance }) => balance <= 0);
  const soon = ends.filter(({ balance }) => balance > 0);
  const [firstEmpty] = empty;
  const [firstSoon] = soon;
  return [
    ...(firstEmpty
      ? [
          low({
            kind: 'balance_empty',
            accountId: firstEmpty.id,
            email: firstEmpty.email,
            more: empty.length - 1,
          }),
        ]
      : []),
    ...(firstSoon
      ? [
          low({
            kind: 'balance_ends',
            accountId: firstSoon.id,
            email: firstSoon.email,
            balanceUsd: usd(firstSoon.balance),
            perDayUsd: usd(firstSoon.perDay),
            more: soon.length - 1,
          }),
        ]
      : []),
  ];
}

async function messageItems(parts: RouteParts, now: number): Promise<AttentionItem[]> {
  const at = { db: parts.store.db, reader: parts.reader };
  const [failed, { paused, ending }] = await Promise.all([
    failedMessages(at, now),
    troubledWebhooks(at, now),
  ]);
  return [
    ...failed.map(({ kind, messages }) => low({ kind: 'messages_failed', count: messages, channel: kind })),
    ...paused.map((url) => high({ kind: 'webhook_paused', url })),
    ...ending.map(({ url, at: endsAt }) => low({ kind: 'webhook_secret_ends', url, at: endsAt })),
  ];
}

async function refusalItems({ store, reader }: RouteParts, now: number): Promise<AttentionItem[]> {
  const reasons = await refusalsByReason({ db: store.db, reader }, now, MOST_REASONS);
  return reasons.map(({ reason, calls }) => low({ kind: 'calls_refused', reason, count: calls }));
}

async function endingItems({ store, reader }: RouteParts, now: number): Promise<AttentionItem[]> {
  const at = { db: store.db, reader };
  const [invites, batches] = await Promise.all([endingInvites(at, now), endingCodes(at, now, MOST_BATCHES)]);
  return [
    ...(invites?.at ? [low({ kind: 'invites_end', count: invites.count, at: invites.at })] : []),
    ...batches.map(({ batch, count, at: endsAt }) => low({ kind: 'codes_end', count, batch, at: endsAt })),
  ];
}
