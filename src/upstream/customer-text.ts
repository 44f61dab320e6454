import { redact } from '../std/log.ts';

/**
 * What a customer reads of a backend's own words about a rejected request. Where they name a key, an address or a server,
 * even half hidden, only their first sentence is shown, up to the word before the name if it is in that one: replacing
 * the names alone would show what was replaced, and a name in a form that nobody thought of would stay.
 */
export function customerText(words: string): string {
  const plain = redact(words)
    .slice(0, MAX_READ)
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  if (plain === '') return NEUTRAL;
  if (!isRevealing(plain)) return plain.slice(0, MAX_SHOWN);
  const first = firstSentence(plain) ?? plain;
  const end = revealedAt(first);
  return end === undefined ? first.slice(0, MAX_SHOWN) : beforeName(first.slice(0, end));
}

/** Cuts off the name, and the words that lead to it. */
function beforeName(text: string): string {
  const words = text.slice(0, Math.max(0, text.search(/\S*$/))).replace(/[\s:;,("'`«„=-]+$/, '');
  return words.length < LEAST_SHOWN || isRevealing(words) ? NEUTRAL : `${words.slice(0, MAX_SHOWN)}…`;
}

/** The position of the first key, address or name of a server. */
function revealedAt(text: string): number | undefined {
  const found = REVEALING.flatMap((pattern) => pattern.exec(text)?.index ?? []);
  const server = serverAt(text);
  return found.length === 0 && server === undefined ? undefined : Math.min(...found, server ?? Infinity);
}

const NEUTRAL = 'The backend rejected the request.';
const MAX_READ = 2_000;
const MAX_SHOWN = 500;
/** Less says nothing. */
const LEAST_SHOWN = 8;

/** Up to a full stop before the beginning of another sentence, or the end of a line. */
function firstSentence(text: string): string | undefined {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0];
}

/** Whether a text has a key, an address or the name of a server in it. */
export function isRevealing(text: string): boolean {
  return revealedAt(text) !== undefined;
}

const REVEALING: readonly RegExp[] = [
  // What was hidden before it came here.
  /‹/,
  // Keys and ids of accounts by their beginning, masked or not.
  /\b(?:sk|pk|rk)[-_][\w*.…-]{2,}/i,
  /\b(?:AIza|AKIA|ASIA|xai-|gsk_|ghp_|hf_|r8_|pplx-|nvapi-|csk-|fw_|whsec_)[\w*.…-]{2,}/,
  /\b(?:org|proj|acct|account|key|token|team|user|tenant)[-_](?=[A-Za-z_-]*[\d*])[\w*-]{4,}/i,
  /\barn:/i,
  /\bbearer\s+(?=\S*[\d*.…])\S+/i,
  // The rest of a key whose beginning was masked, or the other way round.
  /\*{3,}|[•●]{3,}|\b[xX]{4,}[\w-]{2,}/,
  /\b\w{2,}(?:…|\.{3})\w*\d\w*/,
  // Something random: hexadecimal, base64, a UUID.
  /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/i,
  /\b[0-9a-f]{24,}\b/i,
  /(?<![\w+/-])(?=[\w+/-]*\d)(?=[\w+/-]*[A-Z])(?=[\w+/-]*[a-z])[\w+/-]{24,}/,
  /[A-Za-z0-9+/]{40,}/,
  // Addresses.
  /\b[a-z][a-z0-9+.-]*:\/\//i,
  /\bwww\.\w/i,
  /[\w.+-]+@[\w-]+(?:\.[\w-]+)*/,
  /\b\d{1,3}(?:\.\d{1,3}){3}\b/,
  /(?<![\w:])(?:[0-9a-f]{0,4}:){1,7}:(?:[0-9a-f]{1,4}|(?=\W|$))/i,
  /(?<![\w:])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b/i,
  // Names of servers by their ending, or by a port.
  /\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|net|org|io|ai|dev|cloud|app|co|eu|internal|local|localdomain|lan|corp|intranet|svc|cluster)\b/i,
  /\blocalhost\b/i,
  /\b[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:\d{2,5}\b/i,
];

const servers = new Set<string>();
/** More backends than several catalogs have; beyond this many the oldest are forgotten. */
const MAX_SERVERS = 1_000;
/** A shorter name of one part would be found in ordinary words. */
const LEAST_NAME = 4;

/** From now on no customer reads the name of this server. */
export function hideServerFromCustomers(address: string): void {
  if (!URL.canParse(address)) return;
  const { hostname } = new URL(address);
  const [machine = ''] = hostname.split('.');
  // `gpu-7` of `gpu-7.example`; the first part of a public name is a word such as `api`.
  for (const name of [hostname, ...(/\d/.test(machine) ? [machine] : [])]) {
    if (name.length < LEAST_NAME) continue;
    servers.delete(name);
    servers.add(name.toLowerCase());
  }
  const [oldest] = servers;
  if (servers.size > MAX_SERVERS && oldest !== undefined) servers.delete(oldest);
}

function serverAt(text: string): number | undefined {
  const lower = text.toLowerCase();
  const found: number[] = [];
  for (const name of servers)
    for (let at = lower.indexOf(name); at !== -1; at = lower.indexOf(name, at + 1))
      if (!isPartOfName(lower[at - 1]) && !isPartOfName(lower[at + name.length])) found.push(at);
  return found.length === 0 ? undefined : Math.min(...found);
}

function isPartOfName(sign: string | undefined): boolean {
  return sign !== undefined && /[\w-]/.test(sign);
}
