import type { Kysely } from 'kysely';
import type { Clock } from '../std/clock.ts';
import type { Schema } from '../store/schema.ts';
import type { EventData, EventType } from './events.ts';
import type { MailData, MailTemplate } from './mail-data.ts';
import type { Outbox } from './outbox.ts';
import { eventsOf } from './webhooks.ts';

/** What people and programs are told. Everything is written in the caller's transaction. */
export interface Notices {
  /** Whether mail is configured; without it {@link mail} adds nothing. */
  readonly sendsMail: boolean;
  /** To the owner of an account, in their language. The message's id; `undefined` as in `Outbox.add`, or without mail. */
  mail<T extends MailTemplate>(tx: Kysely<Schema>, mail: NewMail<T>): Promise<string | undefined>;
  /** To every webhook of the account, or of the operator, that asks for the event. */
  event<T extends EventType>(tx: Kysely<Schema>, event: NewNoticeEvent<T>): Promise<void>;
  /**
   * True if nobody was told of this occurrence of a condition yet. Of several nodes that notice it, only one gets true.
   */
  raise(tx: Kysely<Schema>, notice: Notice): Promise<boolean>;
  /** True if somebody had been told of the condition. */
  clear(tx: Kysely<Schema>, notice: Omit<Notice, 'mark'>): Promise<boolean>;
}

interface NewMail<T extends MailTemplate> {
  readonly accountId: string;
  readonly template: T;
  readonly data: MailData[T];
  /** A mail with this key is sent at most once. */
  readonly once?: string | undefined;
  readonly lifeMs?: number | undefined;
  readonly delayMs?: number | undefined;
  /** Where the account has chosen none. */
  readonly language?: string | undefined;
}

interface NewNoticeEvent<T extends EventType> {
  /** `OPERATOR` for those of the operator. */
  readonly accountId: string;
  readonly type: T;
  readonly data: EventData[T];
  readonly once?: string | undefined;
}

interface Notice {
  readonly accountId: string;
  readonly topic: string;
  /** Which occurrence it is. */
  readonly mark: string;
}

interface NoticesParts {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly sendsMail: boolean;
}

export function makeNotices({ outbox, clock, sendsMail }: NoticesParts): Notices {
  return {
    sendsMail,
    async mail(tx, { accountId, template, data, language, ...more }) {
      if (!sendsMail) return undefined;
      const account = await tx
        .selectFrom('account')
        .leftJoin('preference', 'preference.account_id', 'account.id')
        .select(['account.email', 'preference.language'])
        .where('account.id', '=', accountId)
        // A team, a member and an app have no address of their own.
        .where('account.kind', '=', 'person')
        .where('account.status', '=', 'active')
        .executeTakeFirst();
      if (!account) return undefined;
      const payload = { language: account.language ?? language ?? 'en', data };
      const message = {
        kind: 'mail',
        topic: template,
        accountId,
        to: account.email,
        payload,
        ...more,
      } as const;
      return await outbox.add(tx, message);
    },
    async event(tx, { accountId, type, data, once }) {
      const webhooks = await tx
        .selectFrom('webhook')
        .select(['id', 'events'])
        .where('account_id', '=', accountId)
        .where('paused_at', 'is', null)
        .execute();
      const payload = { type, timestamp: new Date(clock.now()).toISOString(), data };
      for (const webhook of webhooks.filter((one) => eventsOf(one).includes(type))) {
        const key = once === undefined ? undefined : `${once}:${webhook.id}`;
        await outbox.add(tx, { kind: 'webhook', topic: type, accountId, to: webhook.id, payload, once: key });
      }
    },
    async raise(tx, { accountId, topic, mark }) {
      const raised = await tx
        .insertInto('notice')
        .values({ account_id: accountId, topic, mark, created_at: clock.now() })
        .onConflict((conflict) =>
          conflict
            .columns(['account_id', 'topic'])
            .doUpdateSet({ mark, created_at: clock.now() })
            .where('notice.mark', '!=', mark),
        )
        .returning('mark')
        .executeTakeFirst();
      return raised !== undefined;
    },
    async clear(tx, { accountId, topic }) {
      const { numDeletedRows } = await tx
        .deleteFrom('notice')
        .where('account_id', '=', accountId)
        .where('topic', '=', topic)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },
  };
}
