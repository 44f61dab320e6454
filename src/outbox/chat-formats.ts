import type { EventData, EventType } from './events.ts';
import type { MailSite } from './mail-data.ts';

/** `standard` is signed JSON for a program; the others are what a chat tool takes at an address of its own. */
export const WEBHOOK_FORMATS = ['standard', 'slack', 'discord', 'teams', 'telegram'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];
export type ChatFormat = Exclude<WebhookFormat, 'standard'>;

export const CHAT_LANGUAGES = ['en', 'de'] as const;
export type ChatLanguage = (typeof CHAT_LANGUAGES)[number];

export function isChatFormat(format: string | null): format is ChatFormat {
  return format !== null && Object.hasOwn(CHAT_TOOLS, format);
}

/** What a chat says, before it has the form of a tool. Values may come from anybody: they are shown as they are, and do nothing. */
interface ChatText {
  readonly title: string;
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly link: { readonly label: string; readonly url: string } | undefined;
}

interface ChatTool {
  /** An example address, shown when another kind of address was entered. */
  readonly example: string;
  readonly isAddress: (url: URL) => boolean;
  /** Where it is posted to, if that is not the address itself. */
  readonly target?: (url: URL) => URL;
  readonly body: (text: ChatText, url: URL) => unknown;
}

const CHAT_TOOLS: Readonly<Record<ChatFormat, ChatTool>> = {
  /** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, https://docs.slack.dev/reference/block-kit/blocks/rich-text-block */
  slack: {
    example: 'https://hooks.slack.com/services/…',
    isAddress: hasPath,
    body: (text) => ({
      // Where no blocks are shown, as in a notification.
      text: plainText(text).replaceAll(/[&<>]/g, (sign) => SLACK_ENTITIES[sign] ?? sign),
      blocks: [
        { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: slackElements(text) }] },
      ],
    }),
  },
  /** https://discord.com/developers/docs/resources/webhook#execute-webhook */
  discord: {
    example: 'https://discord.com/api/webhooks/…',
    isAddress: hasPath,
    body: (text) => ({
      content: discordText(text),
      allowed_mentions: { parse: [] },
      flags: DISCORD_NO_PREVIEWS,
    }),
  },
  /** https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook, https://adaptivecards.io/explorer/RichTextBlock.html: a TextRun is no Markdown. */
  teams: {
    example: 'https://….logic.azure.com/workflows/…',
    isAddress: hasPath,
    body: (text) => ({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: teamsCard(text),
        },
      ],
    }),
  },
  /** https://core.telegram.org/bots/api#sendmessage. Entities instead of a parse mode: there is nothing to escape. */
  telegram: {
    example: 'https://api.telegram.org/bot<token>/sendMessage?chat_id=<chat>',
    isAddress: ({ pathname, searchParams }) =>
      /^\/bot\d+:[\w-]{30,}\/sendMessage$/.test(pathname) &&
      /^(?:-?\d{1,20}|@\w{1,64})$/.test(searchParams.get('chat_id') ?? ''),
    target(url) {
      const target = new URL(url);
      target.search = '';
      return target;
    },
    body: (text, url) => ({
      chat_id: url.searchParams.get('chat_id'),
      ...telegramText(text),
      link_preview_options: { is_disabled: true },
    }),
  },
};

/** What is wrong with the address, in one sentence. */
export function chatAddressMistake(format: ChatFormat, url: URL): string | undefined {
  const { isAddress, example } = CHAT_TOOLS[format];
  return isAddress(url) ? undefined : `The address has to look like ${example}.`;
}

/** Whoever knows the whole address can write there: its host, and at Telegram the chat, are all that is shown. */
export function shownChatAddress({ origin, searchParams }: URL, format: ChatFormat): string {
  const chat = format === 'telegram' ? `?chat_id=${searchParams.get('chat_id') ?? ''}` : '';
  return `${origin}/...${chat}`;
}

interface ChatEvent {
  readonly format: ChatFormat;
  readonly address: string;
  readonly language: string | null;
  readonly payload: unknown;
  readonly isOperators: boolean;
}

/** The address and body of the post. The payload is the same as a signed webhook's. */
export function chatRequest(event: ChatEvent, site: MailSite): { readonly url: URL; readonly body: string } {
  const { body, target } = CHAT_TOOLS[event.format];
  const url = new URL(event.address);
  return { url: target?.(url) ?? url, body: JSON.stringify(body(chatText(event, site), url)) };
}

/** Of any value, in characters: with all of them, and their escapes, a message stays below what each tool takes. */
const MAX_VALUE = 200;

function chatText({ payload, language, isOperators }: ChatEvent, site: MailSite): ChatText {
  const which = language === 'de' ? 1 : 0;
  // Written by `Notices.event`, which is typed, and sealed since.
  const { type, data } = payload as {
    readonly type: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
  const page = isOperators ? '/admin' : '/app';
  return {
    title: `${oneLine(site.name)}: ${wordOf(TITLES, type, which)}`,
    facts: Object.entries(data).flatMap(([name, value]) => {
      const shown = oneLine(valueText(name, value, which));
      return shown === '' ? [] : [[wordOf(LABELS, name, which), shown] as const];
    }),
    link:
      site.url === undefined ? undefined : { label: OPEN_CONSOLE[which], url: new URL(page, site.url).href },
  };
}

function valueText(name: string, value: unknown, which: 0 | 1): string {
  // No further models are nothing to tell.
  if (value === null || value === undefined || (name === 'more' && value === 0)) return '';
  if (name === 'per') return wordOf(PERIODS, itemText(value), which);
  if (name === 'status') return wordOf(STATES, itemText(value), which);
  if (typeof value === 'number') return name.endsWith('_usd') ? USD.format(value) : String(value);
  if (Array.isArray(value)) return value.map(itemText).join(', ');
  const text = itemText(value);
  return name.endsWith('_at') || name === 'from' ? text.replace(/T(\d\d:\d\d):.*$/, ' $1 UTC') : text;
}

/** The text of one item of a list: a name, or a model whose price changes. */
function itemText(item: unknown): string {
  if (typeof item === 'object' && item !== null && 'model' in item) return itemText(item.model);
  return typeof item === 'string' ? item : JSON.stringify(item);
}

const USD = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 9 });

/** Line breaks, control characters, marks of direction and halves of characters are no part of a name. */
function oneLine(text: string): string {
  const plain = text.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim();
  const characters = Array.from(plain);
  return characters.length <= MAX_VALUE ? plain : `${characters.slice(0, MAX_VALUE - 1).join('')}…`;
}

function plainText({ title, facts, link }: ChatText): string {
  return [title, ...facts.map(([label, value]) => `${label}: ${value}`), ...(link ? [link.url] : [])].join(
    '\n',
  );
}

const SLACK_ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** A text element is shown as it is: Slack reads neither mentions nor formatting in it. */
function slackElements({ title, facts, link }: ChatText): object[] {
  const text = (words: string, style?: object) => ({ type: 'text', text: words, ...(style && { style }) });
  return [
    text(title, { bold: true }),
    ...facts.flatMap(([label, value]) => [text(`\n${label}: `), text(value, { code: true })]),
    ...(link ? [text('\n'), { type: 'link', url: link.url, text: link.label }] : []),
  ];
}

const DISCORD_NO_PREVIEWS = 4;
const DISCORD_MAX = 2_000;

/** Lines that do not fit are left out whole, so that no escape is cut. */
function discordText({ title, facts, link }: ChatText): string {
  const last = link ? `\n${link.url}` : '';
  let content = `**${discordEscaped(title)}**`;
  for (const [label, value] of facts) {
    const line = `\n${label}: ${discordEscaped(value)}`;
    if (content.length + line.length + last.length <= DISCORD_MAX) content += line;
  }
  return content + last;
}

/** Discord shows any punctuation after a backslash as it is. */
function discordEscaped(text: string): string {
  return text.replaceAll(/[!-/:-@[-`{-~]/g, String.raw`\$&`);
}

function teamsCard({ title, facts, link }: ChatText): object {
  const run = (text: string, more: object = {}) => ({ type: 'TextRun', text, ...more });
  const block = (...inlines: object[]) => ({ type: 'RichTextBlock', inlines });
  return {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [
      block(run(title, { weight: 'Bolder' })),
      ...facts.map(([label, value]) => block(run(`${label}: `), run(value, { fontType: 'Monospace' }))),
    ],
    ...(link && { actions: [{ type: 'Action.OpenUrl', title: link.label, url: link.url }] }),
  };
}

/** Offsets count UTF-16 units, as here. In `code`, Telegram looks for no mentions, commands or links. */
function telegramText(text: ChatText): { readonly text: string; readonly entities: object[] } {
  const entities: object[] = [{ type: 'bold', offset: 0, length: text.title.length }];
  let offset = text.title.length;
  for (const [label, value] of text.facts) {
    offset += `\n${label}: `.length;
    entities.push({ type: 'code', offset, length: value.length });
    offset += value.length;
  }
  return { text: plainText(text), entities };
}

function hasPath({ pathname }: URL): boolean {
  return pathname.length > 1;
}

type Words = readonly [english: string, german: string];
type FieldName = { [T in EventType]: keyof EventData[T] }[EventType];

/** A code that only a newer node has words for is shown as it is. */
function wordOf(table: Readonly<Record<string, Words | undefined>>, code: string, which: 0 | 1): string {
  return table[code]?.[which] ?? code;
}

const OPEN_CONSOLE: Words = ['Open the console', 'Konsole öffnen'];

const TITLES: Readonly<Record<EventType, Words>> = {
  'balance.low': ['Low balance', 'Guthaben niedrig'],
  'limit.reached': ['Monthly limit reached', 'Monatslimit erreicht'],
  'budget.low': ['Budget 80 % used', 'Budget zu 80 % verbraucht'],
  'budget.reached': ['Budget used up', 'Budget verbraucht'],
  'token.expiring': ['API token expires soon', 'API-Token läuft bald ab'],
  'token.replaced': ['API token replaced', 'API-Token ersetzt'],
  'token.exposed': ['API token exposed', 'API-Token offengelegt'],
  'price.changes': ['Prices change', 'Preise ändern sich'],
  'image_job.done': ['Image job done', 'Bildauftrag fertig'],
  'image_job.failed': ['Image job failed', 'Bildauftrag fehlgeschlagen'],
  'backend.down': ['Backend down', 'Backend ausgefallen'],
  'backend.up': ['Backend recovered', 'Backend wieder da'],
  'certificate.ending': ['Certificate expires soon', 'Zertifikat läuft ab'],
  'margin.negative': ['Negative margin', 'Marge negativ'],
  'payment.failed': ['Automatic top-up failed', 'Automatische Aufladung fehlgeschlagen'],
  'ledger.breach': ['Ledger does not add up', 'Bücher stimmen nicht'],
  'webhook.test': ['Test message', 'Testnachricht'],
};

const PERIODS = {
  day: ['day', 'Tag'],
  week: ['week', 'Woche'],
  month: ['month', 'Monat'],
  total: ['in total', 'insgesamt'],
} as const;

const STATES = {
  announced: ['announced', 'angekündigt'],
  cancelled: ['cancelled', 'abgesagt'],
} as const;

const LABELS: Readonly<Record<FieldName, Words>> = {
  account: ['Account', 'Konto'],
  name: ['Name', 'Name'],
  balance_usd: ['Balance', 'Guthaben'],
  threshold_usd: ['Threshold', 'Schwellenwert'],
  month: ['Month', 'Monat'],
  spent_usd: ['Spent', 'Ausgegeben'],
  limit_usd: ['Limit', 'Limit'],
  amount_usd: ['Amount', 'Betrag'],
  per: ['Per', 'Je'],
  used_usd: ['Used', 'Verbraucht'],
  resets_at: ['Resets', 'Beginnt neu'],
  token_hint: ['Token', 'Token'],
  expires_at: ['Expires', 'Läuft ab'],
  job: ['Job', 'Auftrag'],
  images: ['Images', 'Bilder'],
  code: ['Error', 'Fehler'],
  backend: ['Backend', 'Backend'],
  reason: ['Reason', 'Grund'],
  ends_at: ['Ends', 'Endet'],
  days_left: ['Days left', 'Verbleibende Tage'],
  day: ['Day', 'Tag'],
  revenue_usd: ['Revenue', 'Umsatz'],
  cost_usd: ['Cost', 'Kosten'],
  payment: ['Payment', 'Zahlung'],
  breaches: ['Breaches', 'Verstöße'],
  rules: ['Rules', 'Regeln'],
  status: ['Status', 'Stand'],
  from: ['From', 'Ab'],
  models: ['Models', 'Modelle'],
  more: ['More models', 'Weitere Modelle'],
};
