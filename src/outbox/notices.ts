import type { Kysely } from 'kysely';
import type { Clock } from '../std/clock.ts';
import type { Schema } from '../store/schema.ts';
import type { EventData, EventType } from './events.ts';
import type { MailData, MailTemplate } from './mail-data.ts';
import type { Outbox } from './outbox.ts';
import { mailReaders, webhooksAbout, type MailReader } from './recipients.ts';
import { eventsOf } from './webhooks.ts';

/** What people and programs are told. Everything is written in the caller's transaction. */
export interface Notices {
  /** Whether mail is configured; without it {@link mail} adds nothing. */
  readonly sendsMail: boolean;
  /** To whoever reads mails about the account, each in their language. The ids of the messages that were added. */
  mail<T extends MailTemplate>(tx: Kysely<Schema>, mail: NewMail<T>): Promise<string[]>;
  /** To every webhook of the account and its team, or of the operator, that asks for the event. */
  event<T extends EventType>(tx: Kysely<Schema>, event: NewNoticeEvent<T>): Promise<void>;
  /**
   * True if nobody was told of this occurrence of a condition yet. Of several nodes that notice it, only one gets true.
   */
  raise(tx: Kysely<Schema>, notice: Notice): Promise<boolean>;
  /** True if somebody had been told of the condition. */
  clear(tx: Kysely<Schema>, notice: Omit<Notice, 'mark' | 'isOrdered'>): Promise<boolean>;
}

interface NewMail<T extends MailTemplate> {
  readonly accountId: string;
  readonly template: T;
  readonly data: MailData[T];
  /** A mail with this key is sent at most once to each reader. */
  readonly once?: string | undefined;
  readonly lifeMs?: number | undefined;
  readonly delayMs?: number | undefined;
  /** The language for readers who have chosen none. */
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
  /** A later occurrence has a later mark in the order of texts: who was told of that is not told of this any more. */
  readonly isOrdered?: boolean;
}

interface NoticesParts {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly sendsMail: boolean;
}

export function makeNotices({ outbox, clock, sendsMail }: NoticesParts): Notices {
  return {
    sendsMail,
    async mail(tx, { accountId, template, data, language, once, ...more }) {
      if (!sendsMail) return [];
      const added: string[] = [];
      for (const reader of await mailReaders(tx, accountId)) {
        const message = {
          kind: 'mail',
          topic: template,
          accountId: reader.id,
          to: reader.email,
          payload: { language: reader.language ?? language ?? 'en', data, about: reader.about },
          ...more,
          once: onceFor(reader, accountId, once),
        } as const;
        const id = await outbox.add(tx, message);
        if (id !== undefined) added.push(id);
      }
      return added;
    },
    async event(tx, { accountId, type, data, once }) {
      const webhooks = await webhooksAbout(tx, accountId).where('paused_at', 'is', null).execute();
      const payload = { type, timestamp: new Date(clock.now()).toISOString(), data };
      for (const webhook of webhooks.filter((one) => eventsOf(one).includes(type))) {
        const key = once === undefined ? undefined : `${once}:${webhook.id}`;
        await outbox.add(tx, {
          kind: 'webhook',
          topic: type,
          accountId: webhook.account_id,
          to: webhook.id,
          payload,
          once: key,
        });
      }
    },
    async raise(tx, { accountId, topic, mark, isOrdered = false }) {
      const raised = await tx
        .insertInto('notice')
        .values({ account_id: accountId, topic, mark, created_at: clock.now() })
        .onConflict((conflict) =>
          conflict
            .columns(['account_id', 'topic'])
            .doUpdateSet({ mark, created_at: clock.now() })
            .where('notice.mark', isOrdered ? '<' : '!=', mark),
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

/** The account's own reader has the key itself, so that a mail of an earlier version is not sent again. */
function onceFor({ id }: MailReader, accountId: string, once: string | undefined): string | undefined {
  return once === undefined || id === accountId ? once : `${once}:${id}`;
}
