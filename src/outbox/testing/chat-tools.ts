import type { ChatFormat } from '../chat-formats.ts';
import type { ReceivedWebhook } from './webhook-receiver.ts';

/** What people would see of a message that a chat tool has taken. */
export interface SeenMessage {
  readonly text: string;
  /** What the tool would have shown in another form, or called somebody for: never anything from outside. */
  readonly effects: readonly string[];
}

/** A chat tool at its public interface: it refuses what its reference says is refused, in its own words. */
interface ChatReceiver {
  readonly path: string;
  readonly secret: string;
  /** Whether the answer is a refusal, and what people see if it is none. */
  receive(received: ReceivedWebhook): { readonly answer: Response; readonly seen?: SeenMessage };
}

interface Json {
  readonly [name: string]: unknown;
}

const isText = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value !== '' && value.length <= most;
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : []);

function bodyOf({ body, headers }: ReceivedWebhook): Json | undefined {
  if (!headers['content-type']?.startsWith('application/json')) return undefined;
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

export const CHAT_TOOLS: Readonly<Record<ChatFormat, ChatReceiver>> = {
  /**
   * https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks (errors),
   * https://docs.slack.dev/messaging/formatting-message-text (what `text` does),
   * https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
   */
  slack: {
    path: '/services/T0000TEAM/B0000HOOK/slackSecret0123456789abcd',
    secret: 'slackSecret0123456789abcd',
    receive(received) {
      const refuse = (status: number, word: string) => ({ answer: new Response(word, { status }) });
      if (received.path !== CHAT_TOOLS.slack.path) return refuse(404, 'no_service');
      const body = bodyOf(received);
      if (!body) return refuse(400, 'invalid_payload');
      const { text, blocks } = body;
      if (!isText(text, 40_000)) return refuse(400, text === undefined ? 'no_text' : 'msg_too_long');
      const sections = listOf(blocks).flatMap(({ type, elements }) =>
        type === 'rich_text' ? listOf(elements) : [],
      );
      const elements = sections.flatMap(({ type, elements: inner }) =>
        type === 'rich_text_section' ? listOf(inner) : [],
      );
      const isWrong = elements.some(
        (one) => !['text', 'link'].includes(String(one['type'])) || !isText(one['text'], 3_000),
      );
      if (elements.length === 0 || isWrong) return refuse(400, 'invalid_blocks');
      return {
        answer: new Response('ok'),
        seen: {
          text: elements.map((one) => String(one['text'])).join(''),
          // In `text`, `<!channel>`, `<@U1>` and `<https://…|words>` are commands wherever they are not escaped.
          effects: text.match(/<[^>]*>|&(?!amp;|lt;|gt;)/g) ?? [],
        },
      };
    },
  },
  /**
   * https://discord.com/developers/docs/resources/webhook#execute-webhook, https://discord.com/developers/docs/reference#error-messages,
   * https://discord.com/developers/docs/resources/message#allowed-mentions-object
   */
  discord: {
    path: '/api/webhooks/1111111111/discordSecret0123456789abcd',
    secret: 'discordSecret0123456789abcd',
    receive(received) {
      const refuse = (status: number, code: number, message: string, errors?: object) => ({
        answer: Response.json({ message, code, ...(errors && { errors }) }, { status }),
      });
      if (received.path !== CHAT_TOOLS.discord.path) return refuse(404, 10015, 'Unknown Webhook');
      const body = bodyOf(received);
      if (!body) return refuse(400, 50109, 'The request body contains invalid JSON.');
      const { content, embeds, allowed_mentions: allowed, flags = 0 } = body;
      if (typeof content === 'string' && content.length > 2_000)
        return refuse(400, 50035, 'Invalid Form Body', {
          content: {
            _errors: [{ code: 'BASE_TYPE_MAX_LENGTH', message: 'Must be 2000 or fewer in length.' }],
          },
        });
      if (listOf(embeds).length > 10) return refuse(400, 50035, 'Invalid Form Body');
      if (!isText(content, 2_000)) return refuse(400, 50006, 'Cannot send an empty message');
      // SUPPRESS_EMBEDS and SUPPRESS_NOTIFICATIONS are all that a webhook may set here.
      if (typeof flags !== 'number' || (flags & ~(4 | 4_096)) !== 0)
        return refuse(400, 50035, 'Invalid Form Body');
      const pings = allowed === undefined || listOf((allowed as Json)['parse']).length > 0;
      return { answer: new Response(null, { status: 204 }), seen: discordSeen(content, pings) };
    },
  },
  /**
   * https://learn.microsoft.com/power-automate/create-adaptive-cards-teams, https://learn.microsoft.com/microsoftteams/limits-specifications-teams
   * (28 KB), https://adaptivecards.io/schemas/adaptive-card.json
   */
  teams: {
    path: '/workflows/0123456789abcdef/triggers/manual/paths/invoke',
    secret: 'teamsSignature/0123456789abcd',
    receive(received) {
      const refuse = (status: number, code: string, message: string) => ({
        answer: Response.json({ error: { code, message } }, { status }),
      });
      if (new URLSearchParams(received.search).get('sig') !== CHAT_TOOLS.teams.secret)
        return refuse(
          401,
          'DirectApiAuthorizationRequired',
          'The request must be authenticated only by Shared Access scheme.',
        );
      if (received.path !== CHAT_TOOLS.teams.path)
        return refuse(404, 'WorkflowNotFound', 'The workflow could not be found.');
      if (Buffer.byteLength(received.body) > 28 * 1_024)
        return refuse(413, 'RequestEntityTooLarge', 'Request body too large.');
      const mismatch = () =>
        refuse(
          400,
          'TriggerInputSchemaMismatch',
          "The input body for trigger 'manual' did not match its schema definition.",
        );
      const [attachment, ...more] = listOf(bodyOf(received)?.['attachments']);
      const card = attachment?.['content'] as Json | undefined;
      if (!card || more.length > 0 || bodyOf(received)?.['type'] !== 'message') return mismatch();
      if (attachment?.['contentType'] !== 'application/vnd.microsoft.card.adaptive') return mismatch();
      const inlines = listOf(card['body']).map(({ type, inlines: runs }) =>
        type === 'RichTextBlock' ? listOf(runs) : undefined,
      );
      const runs = inlines.flatMap((one) => one ?? []);
      const isWrong = runs.some(({ type, text }) => type !== 'TextRun' || !isText(text, 10_000));
      if (card['type'] !== 'AdaptiveCard' || runs.length === 0 || isWrong || inlines.includes(undefined))
        return mismatch();
      // Only a TextBlock is read as Markdown, and only `msteams.entities` call somebody.
      const lines = inlines.map((one) => one?.map(({ text }) => String(text)).join(''));
      const effects = card['msteams'] === undefined ? [] : ['msteams'];
      return { answer: new Response(null, { status: 202 }), seen: { text: lines.join('\n'), effects } };
    },
  },
  /** https://core.telegram.org/bots/api#making-requests, #sendmessage, #messageentity, #responseparameters */
  telegram: {
    path: '/bot123456789:AAtelegramSecret0123456789abcdefgh/sendMessage',
    secret: 'AAtelegramSecret0123456789abcdefgh',
    receive(received) {
      const refuse = (error_code: number, description: string, parameters?: object) => ({
        answer: Response.json(
          { ok: false, error_code, description, ...(parameters && { parameters }) },
          { status: error_code },
        ),
      });
      if (received.path !== CHAT_TOOLS.telegram.path) return refuse(404, 'Not Found');
      const { chat_id: chat, text, parse_mode: mode, entities } = bodyOf(received) ?? {};
      if (chat === undefined || chat === '') return refuse(400, 'Bad Request: chat_id is empty');
      if (chat !== TELEGRAM_CHAT) return refuse(400, 'Bad Request: chat not found');
      if (typeof text !== 'string' || text.trim() === '')
        return refuse(400, 'Bad Request: message text is empty');
      if (text.length > 4_096) return refuse(400, 'Bad Request: message is too long');
      if (mode !== undefined && mode !== 'HTML' && mode !== 'MarkdownV2')
        return refuse(400, 'Bad Request: unsupported parse_mode');
      if (mode === 'HTML' && /<(?!\/?(?:b|i|code|pre|a)\b)/.test(text))
        return refuse(400, "Bad Request: can't parse entities: Unsupported start tag");
      return { answer: Response.json({ ok: true, result: {} }), seen: telegramSeen(text, listOf(entities)) };
    },
  },
};

const TELEGRAM_CHAT = '-1001234567890';

/** The whole address of a tool that is at this server. */
export function chatAddress(format: ChatFormat, origin: string): string {
  const { path, secret } = CHAT_TOOLS[format];
  const search = {
    teams: `?api-version=2016-06-01&sig=${encodeURIComponent(secret)}`,
    telegram: `?chat_id=${TELEGRAM_CHAT}`,
  };
  return `${origin}${path}${format === 'teams' || format === 'telegram' ? search[format] : ''}`;
}

/** The last line: the console, at the address that the operator gave. */
const OWN_LINK = /\nhttps:\/\/gate\.example\.com\/\S+$/;

/** A sign after a backslash is itself; any other that Discord reads is an effect, but for our own title in bold. */
function discordSeen(content: string, pings: boolean): SeenMessage {
  const effects: string[] = [];
  const plain = content.replace(OWN_LINK, '').replace(/^\*\*((?:\\.|[^*\\])*)\*\*/, '$1');
  const text = plain.replaceAll(/\\([^0-9A-Za-z\s])|([*_~|`<>[\]#@]|https?:\/\/)/g, (_all, escaped, sign) => {
    if (escaped !== undefined) return String(escaped);
    effects.push(String(sign));
    return String(sign);
  });
  return { text, effects: pings ? [...effects, 'may ping'] : effects };
}

/** Outside of code, names after an @, commands, hashtags and links are found by Telegram itself. */
function telegramSeen(text: string, entities: readonly Json[]): SeenMessage {
  let outside = text.replace(OWN_LINK, '');
  for (const { type, offset, length } of entities) {
    const [from, count] = [Number(offset), Number(length)];
    if (type === 'code') outside = outside.slice(0, from) + ' '.repeat(count) + outside.slice(from + count);
  }
  return { text, effects: outside.match(/[@#/]\w+|https?:\/\/\S+/g) ?? [] };
}
