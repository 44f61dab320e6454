import type { Transporter } from 'nodemailer';
import { z } from 'zod';
import { SEND_TIMEOUT_MS, type OutboxChannel, type OutboxMessage, type SendResult } from './sender.ts';
import { orAborted } from '../std/deadlines.ts';
import { isLoopback } from '../std/addresses.ts';
import type { MailContext, MailData, MailSite, MailTemplate, MailTexts } from './mail-data.ts';
import { MAIL_TEXTS_DE } from './mail-texts-de.ts';
import { MAIL_TEXTS_EN } from './mail-texts-en.ts';

/** How mail is sent: the operator's server, and the sender's address. */
export interface MailConfig {
  /** `smtp://` or `smtps://`, with user and password where the server asks for them. */
  readonly smtpUrl: string;
  readonly from: MailAddress;
}

interface MailAddress {
  readonly name: string;
  readonly address: string;
}

interface MailChannelParts {
  readonly config: MailConfig;
  readonly site: () => Promise<MailSite>;
}

const MAX_ADDRESS = 254;
const MAX_NAME = 100;
const MAX_SUBJECT = 200;
const addressSchema = z.email().max(MAX_ADDRESS);
const payloadSchema = z.object({
  language: z.string(),
  data: z.record(z.string(), z.unknown()),
  about: z.object({ team: z.string().optional(), account: z.string().optional() }).optional(),
});

/** Mail by SMTP. The package is loaded with the first mail, since most installations send none. */
export function makeMailChannel({ config, site }: MailChannelParts): OutboxChannel {
  let transport: Promise<Transporter> | undefined;
  return {
    async send(message, signal) {
      const mail = await composeMail(message, config.from, await site());
      if (typeof mail === 'string') return { kind: 'failed', reason: mail, isFinal: true };
      transport ??= openTransport(config.smtpUrl, { timeoutMs: SEND_TIMEOUT_MS.mail });
      const sending = (await transport).sendMail(mail).then((): SendResult => ({ kind: 'sent' }));
      return await orAborted(sending.catch(refusalOf), signal);
    },
  };
}

/** The mail, or why it cannot be sent: text from others must not become a header of its own. */
async function composeMail(message: OutboxMessage, from: MailAddress, site: MailSite) {
  if (!isMailAddress(message.to)) return 'this is not a mail address';
  const payload = payloadSchema.safeParse(message.payload);
  if (!payload.success || !isMailTemplate(message.topic)) return `there is no mail ${message.topic}`;
  const { language, data, about } = payload.data;
  // Written by `Notices.mail`, which is typed, and sealed since.
  const mail = renderMail(message.topic, data as unknown as MailData[MailTemplate], {
    language,
    site: { ...site, ...about },
  });
  if (!isHeaderText(mail.subject, MAX_SUBJECT)) return 'the subject has a line break or is too long';
  const [, domain = 'localhost'] = from.address.split('@');
  return {
    ...mail,
    from,
    to: { name: '', address: message.to },
    // The same in every attempt, so that a server may drop a repetition.
    messageId: `<${message.id}@${domain}>`,
    headers: { 'auto-submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function isMailAddress(text: string): boolean {
  return isHeaderText(text, MAX_ADDRESS) && addressSchema.safeParse(text).success;
}

/** One line without control characters. */
function isHeaderText(text: string, max: number): boolean {
  // eslint-disable-next-line no-control-regex -- these are what is refused
  return text.length <= max && !/[\u0000-\u001f\u007f\u0085\u2028\u2029]/.test(text);
}

/** `Name <address>`, or an address alone; `undefined`: neither. */
export function readMailAddress(text: string): MailAddress | undefined {
  const [, name = '', bracketed] = /^(?:"?([^"<>]*?)"?\s*)?<([^<>]+)>$/.exec(text.trim()) ?? [];
  const address = bracketed ?? text.trim();
  return isMailAddress(address) && isHeaderText(name, MAX_NAME) ? { name, address } : undefined;
}

interface TransportOptions {
  readonly timeoutMs: number;
  /** Log in even if the server does not offer it, since it might accept a mail without a login. */
  readonly forceAuth?: boolean;
}

async function openTransport(
  smtpUrl: string,
  { timeoutMs, forceAuth = false }: TransportOptions,
): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  const url = new URL(smtpUrl);
  const secure = url.protocol === 'smtps:';
  const hasPassword = url.username !== '';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return createTransport({
    host,
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    // A password never crosses a network in the clear.
    requireTLS: hasPassword && !secure && host !== 'localhost' && !isLoopback(host),
    ...(hasPassword && {
      auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
      forceAuth,
    }),
    connectionTimeout: timeoutMs / 2,
    greetingTimeout: timeoutMs / 2,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** A server's words may repeat the mail, and with it a link; its code says enough. */
function refusalOf(error: unknown): SendResult {
  const { code = 'unknown', responseCode } = (typeof error === 'object' && error !== null ? error : {}) as {
    readonly code?: string;
    readonly responseCode?: number;
  };
  const isFinal = responseCode !== undefined && responseCode >= 550 && code !== 'EAUTH';
  return { kind: 'failed', reason: `the mail server refused it (${code})`, status: responseCode, isFinal };
}

interface RenderedMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

function isMailTemplate(topic: string): topic is MailTemplate {
  return Object.hasOwn(MAIL_TEXTS_EN, topic);
}

/** Plain text and HTML with the same words; readable without images, styles or links. */
export function renderMail<T extends MailTemplate>(
  template: T,
  data: MailData[T],
  { language, site }: { readonly language: string; readonly site: MailContext },
): RenderedMail {
  const isGerman = /^de\b/i.test(language);
  const texts: MailTexts = isGerman ? MAIL_TEXTS_DE : MAIL_TEXTS_EN;
  const { subject, paragraphs, action } = texts[template](data, site);
  const footer = site.url === undefined ? site.name : `${site.name}, ${site.url}`;
  const lines = action ? [...paragraphs, `${action.label}:\n${action.link}`] : paragraphs;
  const parts = paragraphs.map((line) => `<p>${escaped(line)}</p>`);
  if (action) {
    const link = escaped(action.link);
    parts.push(`<p><a href="${link}">${escaped(action.label)}</a></p>`, `<p>${link}</p>`);
  }
  const body = [...parts, `<p style="color:#666">${escaped(footer)}</p>`].join('\n');
  return {
    subject,
    text: `${[...lines, `-- \n${footer}`].join('\n\n')}\n`,
    html: `<!doctype html>
<html lang="${isGerman ? 'de' : 'en'}">
<head><meta charset="utf-8"><title>${escaped(subject)}</title></head>
<body style="font-family:sans-serif;line-height:1.5;max-width:36em">
${body}
</body>
</html>
`,
  };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

interface MailServerCheck {
  readonly ok: boolean;
  readonly line: string;
}

/** Connects to the operator's mail server as a mail would, up to the login; nothing is sent. */
export async function checkMailServer(
  { smtpUrl, from }: MailConfig,
  timeoutMs: number,
): Promise<MailServerCheck> {
  const server = new URL(smtpUrl).host;
  const transport = await openTransport(smtpUrl, { timeoutMs, forceAuth: true });
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`no answer within ${timeoutMs / 1000} seconds`)),
    timeoutMs,
  );
  try {
    await Promise.race([transport.verify(), late.promise]);
    return { ok: true, line: `mail: ${server} can be used, from ${from.address}` };
  } catch (error) {
    return { ok: false, line: `mail: ${server} ${failureOf(error)}` };
  } finally {
    clearTimeout(timer);
    transport.close();
  }
}

/** The server's words are repeated only before the login: they might repeat the password. */
function failureOf(error: unknown): string {
  const { code, message, responseCode } = error as Error & {
    readonly code?: string;
    readonly responseCode?: number;
  };
  if (code === 'EAUTH')
    return `does not accept the user and the password of TOLLGATE_SMTP_URL${responseCode === undefined ? '' : ` (${responseCode})`}.`;
  if (code === 'ETLS')
    return `offers no usable TLS, and a user and a password are sent over TLS only: ${message}.`;
  return `cannot be used: ${message}.`;
}
