import { readSite } from '../../identity/sign-in/site.ts';
import { makeMailChannel, type MailConfig } from '../../outbox/mail-channel.ts';
import { makeNotices } from '../../outbox/notices.ts';
import { makeOutbox } from '../../outbox/outbox.ts';
import { OutboxSender } from '../../outbox/sender.ts';
import { makeWebhookChannel, type WebhookRules } from '../../outbox/webhook-channel.ts';
import { makeWebhooks } from '../../outbox/webhooks.ts';
import type { Clock } from '../../std/clock.ts';
import { systemRandom } from '../../std/ids.ts';
import { silentLog } from '../../std/log.ts';
import type { Store } from '../../store/store.ts';
import type { ConsoleMessages } from '../parts.ts';

export interface TestMessagesOptions {
  readonly mail?: MailConfig | undefined;
  /** How the addresses of webhooks are resolved and checked. */
  readonly webhookRules?: Partial<WebhookRules> | undefined;
  readonly publicUrl?: string | undefined;
  readonly maxWaiting?: number | undefined;
}

export interface TestMessages extends ConsoleMessages {
  readonly sender: OutboxSender;
}

const KEY = new Uint8Array(32).fill(9);

/** The real outbox with its real channels. Nothing is sent until a test says so. */
export function testMessages(store: Store, clock: Clock, options: TestMessagesOptions = {}): TestMessages {
  const { db } = store;
  const { mail, publicUrl: url } = options;
  const shared = { db, key: KEY, clock, log: silentLog, random: systemRandom };
  const outbox = makeOutbox({ ...shared, maxWaiting: options.maxWaiting });
  const notices = makeNotices({ outbox, clock, sendsMail: mail !== undefined });
  const rules = { operatorMayBePrivate: false, ...options.webhookRules };
  const site = async () => ({ name: (await readSite(store)).siteName, url });
  const channels = {
    webhook: makeWebhookChannel({
      ...shared,
      rules,
      site,
      onPaused: ({ accountId, ...data }) => notices.mail(db, { accountId, template: 'webhook.paused', data }),
    }),
    ...(mail && { mail: makeMailChannel({ config: mail, site }) }),
  };
  return {
    outbox,
    notices,
    // Without jitter, which could make a later pause the shorter one.
    sender: new OutboxSender({ db, outbox, channels, clock, log: silentLog, random: () => 0.5 }),
    webhooks: makeWebhooks({ ...shared, rules, durable: () => store.durable() }),
    mail: mail && { from: mail.from.address, server: new URL(mail.smtpUrl).host },
  };
}
