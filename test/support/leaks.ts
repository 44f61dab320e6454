import { hashToken } from '../../src/identity/accounts/token.ts';
import operateGuide from '../../docs/operate.md' with { type: 'text' };

/**
 * What no log, metric or table may hold, looked for wherever a test stops a server: tokens by their form, keys, passwords
 * and sessions as the test has used them, and prompts in every table that is not listed as holding them.
 */

export interface Traces {
  /** Where browsers have sent their secrets. */
  readonly url: string;
  readonly log: string;
  readonly metrics: string;
  /** By name. */
  readonly tables: ReadonlyMap<string, string>;
}

const sentByBrowsers = new Map<string, Set<string>>();

/** The passwords in what a browser sends to a server. */
export function notePasswords(url: string, body: unknown): void {
  for (const [field, value] of Object.entries(body ?? {}))
    if (/password$/i.test(field) && typeof value === 'string') noteSentSecret(url, value);
}

/** The store has the first part of a session; its signature is kept nowhere. */
export function noteSession(url: string, setCookie: string): void {
  const [pair = ''] = setCookie.split(';');
  const signature = /session_token=.*\.(.+)$/.exec(decodeURIComponent(pair))?.[1];
  if (signature !== undefined) noteSentSecret(url, signature);
}

/** Short ones may be in its log by chance. */
function noteSentSecret(url: string, secret: string): void {
  if (secret.length < FEWEST_CHARACTERS.password) return;
  const sent = sentByBrowsers.get(url) ?? new Set();
  sentByBrowsers.set(url, sent.add(secret));
}

/** What went through a server, to be recognised in its traces. */
export class UsedSecrets {
  readonly #secrets = new Map<string, string>();
  readonly #prompts = new Set<string>();

  /** Settings that are secrets, by their names, and keys that are written in the catalog itself. */
  constructor(env: Readonly<Record<string, string>> = {}, catalog = '') {
    for (const [name, value] of Object.entries(env))
      if (/(?:KEY|SECRET|TOKEN|PASSWORD)$/.test(name) && value.length >= FEWEST_CHARACTERS.key)
        this.#secrets.set(name, value);
    for (const [, key = ''] of catalog.matchAll(/\bapi_key: "?([\w.-]+)/g))
      if (key.length >= FEWEST_CHARACTERS.key) this.#secrets.set('a key of the catalog', key);
  }

  /** The texts of a request, those that are long enough to be no coincidence. */
  notePrompts(body: unknown): void {
    if (typeof body !== 'object' || body === null || this.#prompts.size >= MOST_PROMPTS) return;
    const { messages, prompt, input } = body as { messages?: unknown; prompt?: unknown; input?: unknown };
    const contents = [messages, input].flatMap((list) =>
      Array.isArray(list) ? list.flatMap((message: { content?: unknown } | null) => message?.content) : [],
    );
    const parts = contents.map((content) =>
      typeof content === 'object' && content !== null && 'text' in content ? content.text : content,
    );
    for (const text of [prompt, input, ...parts]) if (isRecognisable(text)) this.#prompts.add(text);
  }

  /** Throws if a server has written down what it must not. */
  requireNone(traces: Traces): void {
    const found = this.foundIn(traces);
    if (found.length > 0)
      throw new Error(`secrets were written down:\n${found.slice(0, MOST_TOLD).join('\n')}`);
  }

  /** One line for each place where something is that must not be there. */
  foundIn({ url, log, metrics, tables }: Traces): string[] {
    const secrets = [...this.#secrets, ...[...(sentByBrowsers.get(url) ?? [])].map(asSentByBrowser)];
    const prompts = [...this.#prompts].map((prompt) => ['a prompt', prompt] as const);
    const places: Place[] = [
      { name: 'the log', text: log, without: [...secrets, ...prompts] },
      { name: 'the metrics', text: metrics, without: [...secrets, ...prompts] },
      ...[...tables].map(([name, text]) => ({
        name: `the table ${name}`,
        text,
        without: PROMPT_TABLES.has(name) ? secrets : [...secrets, ...prompts],
      })),
    ];
    return places.flatMap(leaksOf);
  }
}

interface Place {
  readonly name: string;
  readonly text: string;
  readonly without: readonly (readonly [name: string, secret: string])[];
}

function leaksOf({ name: place, text, without }: Place): string[] {
  const tokens = tokensIn(text).map((token) => ['a token', token] as const);
  return [...tokens, ...without.filter(([, secret]) => text.includes(secret))].map(
    ([name, secret]) => `${name} in ${place}: ${around(text, secret)}`,
  );
}

function asSentByBrowser(secret: string): readonly [string, string] {
  return ['what a browser sent', secret];
}

const FEWEST_CHARACTERS = { key: 8, password: 12, prompt: 20 };
const MOST_CHARACTERS_OF_A_PROMPT = 500;
const MOST_PROMPTS = 200;
const AROUND = 80;
const MOST_TOLD = 20;

function isRecognisable(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length >= FEWEST_CHARACTERS.prompt &&
    text.length <= MOST_CHARACTERS_OF_A_PROMPT &&
    // It must look the same inside a log line.
    JSON.stringify(text).length === text.length + 2
  );
}

/** The tables that docs/operate.md lists. */
export const PROMPT_TABLES: ReadonlySet<string> = new Set(
  [
    ...(/## What is kept of requests\n([^]*?)(?=\n## |$)/.exec(operateGuide)?.[1] ?? '').matchAll(
      /^\| `(\w+)`/gm,
    ),
  ].map(([, name = '']) => name),
);

const NO_PEPPER = new Uint8Array();

/** Whatever has their form and a right checksum. */
function tokensIn(text: string): string[] {
  return (text.match(/sk-[0-9A-Za-z]{49}/g) ?? []).filter(
    (found) => hashToken(found, NO_PEPPER) !== undefined,
  );
}

function around(text: string, found: string): string {
  const at = text.indexOf(found);
  return text.slice(Math.max(0, at - AROUND), at + found.length + AROUND).replaceAll('\n', ' ');
}

/** Empty where it cannot be asked any more. */
export async function metricsOf(url: string, token = METRICS_TOKEN): Promise<string> {
  const tls = { rejectUnauthorized: false };
  try {
    const answer = await fetch(`${url}/metrics`, {
      keepalive: false,
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(METRICS_MS),
      tls,
    });
    return await answer.text();
  } catch {
    return '';
  }
}

const METRICS_MS = 2_000;

/** Of every server of these tests. */
export const METRICS_TOKEN = 'token-for-the-metrics-of-tests';
