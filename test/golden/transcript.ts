import { createHash } from 'node:crypto';
import type { Message } from './message.ts';

/** What differs from run to run and cannot be fixed. Everything else in a recording is compared byte for byte. */
const MASKS: readonly { readonly why: string; readonly pattern: RegExp; readonly shown: string }[] = [
  { why: 'the port of the backend', pattern: /127\.0\.0\.1:\d+/g, shown: '{backend}' },
  {
    why: 'tokens look like secrets to scanners; this one is the account’s of the case',
    pattern: /sk-[0-9A-Za-z]{49}/g,
    shown: '{token}',
  },
  { why: 'the runtime’s version', pattern: /(bun\/)\d+\.\d+\.\d+/gi, shown: '$1{version}' },
  { why: 'the versions of the AI SDK', pattern: /(ai-sdk\/[\w-]+\/)\d+\.\d+\.\d+/g, shown: '$1{version}' },
  { why: 'a signature covers the port', pattern: /(Signature=)[0-9a-f]{64}/g, shown: '$1{signature}' },
  {
    why: 'the runtime draws the boundary of a form',
    pattern: /(-+WebkitFormBoundary)[0-9a-f]+/gi,
    shown: '$1{boundary}',
  },
];

/** Headers that are not recorded, with the reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  date: 'the runtime’s own clock',
  'transfer-encoding': 'whether a stream is sent in chunks or at once is the runtime’s choice',
};

/** A stream that is short enough may be sent with a length, and another time without. */
function isLeftOut([name, value]: readonly [string, string], message: Message): boolean {
  const isStream = message.headers.some(
    ([key, value]) => key === 'content-type' && value.startsWith('text/event-stream'),
  );
  // `close` is ours and means something; the runtime says `keep-alive` by itself.
  const isUsual = name === 'connection' && value.toLowerCase() === 'keep-alive';
  return name in LEFT_OUT || isUsual || (isStream && name === 'content-length');
}

export function section(title: string, text: string): string {
  return `=== ${title}\n${masked(text)}\n`;
}

export function messageText(message: Message): string {
  const headers = message.headers
    .filter((header) => !isLeftOut(header, message))
    .map(([name, value]) => `${name}: ${value}`);
  const cut = message.isCut ? '\n(the connection ended here)' : '';
  return `${[message.start, ...headers].join('\n')}\n\n${bodyText(message.body)}${cut}`;
}

const LONGEST_SHOWN = 1_000_000;

/** Text as it is, with returns made visible; anything else by its hash, and so is what nobody would read to its end. */
export function bodyText(body: Uint8Array): string {
  if (body.length === 0) return '(no body)';
  try {
    if (body.length > LONGEST_SHOWN) throw new Error('too long to be shown');
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    if (!UNPRINTABLE.test(text)) return text.replaceAll('\r', '␍');
  } catch {
    // Not text that is shown.
  }
  const hash = createHash('sha256').update(body).digest('hex');
  return `(${body.length} bytes, sha256 ${hash})`;
}

// oxlint-disable-next-line no-control-regex -- what a terminal or an editor would not show
const UNPRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

function masked(text: string): string {
  return MASKS.reduce((shown, mask) => shown.replace(mask.pattern, mask.shown), text);
}
