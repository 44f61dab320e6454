import { sql } from 'kysely';
import type { OutboxRow } from '../store/schema-services.ts';
import {
  anyContains,
  emailIn,
  equals,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from './table-page.ts';

/** A message, with the address of its webhook if it goes to one that is still there. */
export type ListedMessage = OutboxRow & { readonly url: string | null };

interface MessageFilter {
  readonly state?: 'waiting' | 'sent' | 'failed' | undefined;
  readonly kind?: 'mail' | 'webhook' | undefined;
  readonly topic?: string | undefined;
  /** Part of the id, the topic, where it goes, whom it is about, or of the error of an attempt. */
  readonly search?: string | undefined;
}

const WEBHOOK_URL = sql`(SELECT w.url FROM webhook w WHERE w.id = t.destination)`;

/** The id of a message holds its time. */
export const MESSAGE_TABLE: ListedTable = {
  from: sql`outbox AS t`,
  columns: sql`t.*, ${WEBHOOK_URL} AS url`,
  time: sql`t.created_at`,
  mark: [textColumn(sql`t.id`)],
  sorted: {
    to: textColumn(sql`coalesce(${WEBHOOK_URL}, t.destination)`),
    attempts: numberColumn(sql`t.attempts`),
    topic: textColumn(sql`t.topic`),
  },
};

export function messageFilter({ state, kind, topic, search }: MessageFilter): TableFilter {
  const columns = [sql`t.topic`, sql`t.destination`, WEBHOOK_URL, emailIn('t.account_id'), sql`t.history`];
  return {
    where: equals('t.state', state),
    checks: [
      ...equals('t.kind', kind),
      ...equals('t.topic', topic),
      ...(search === undefined ? [] : [anyContains(search, columns, [sql`t.id`])]),
    ],
  };
}
