import type { Contender } from './contenders/contender.ts';
import type { LoadPlan } from './load/plan.ts';

export interface Case {
  readonly name: string;
  readonly about: string;
  readonly body: string;
  /** How many accounts take part, where a contender has any. */
  readonly accounts: number;
  readonly streamed: boolean;
  /** What sets this case apart only matters to a contender with accounts. */
  readonly needsAccounts: boolean;
  /** Of what is no chat of the public API. */
  readonly path?: string;
}

export const CONNECTIONS = 64;
export const MOST_ACCOUNTS = 64;
const FEW_ACCOUNTS = 8;

/** Every contender gets the same bytes; only Tollgate knows what `endpoint` is for. */
const chat = (content: string, more: object = {}): string =>
  JSON.stringify({
    endpoint: 'svc_chat',
    model: 'm',
    messages: [
      { role: 'system', content: 'You are the keeper of a toll gate. Answer in one sentence.' },
      { role: 'user', content },
    ],
    temperature: 0.7,
    max_tokens: 256,
    ...more,
  });

const QUESTION = 'What does it cost to pass, and what do I get for it?';
const LONG_QUESTION = 'The quick brown fox pays the toll and jumps over the lazy dog, who waits. '.repeat(
  138,
);

export const CASES: readonly Case[] = [
  {
    name: 'small chat',
    about: '320 bytes in, 330 out',
    body: chat(QUESTION),
    accounts: FEW_ACCOUNTS,
    streamed: false,
    needsAccounts: false,
  },
  {
    name: '10 KB chat',
    about: '10 KB in, 330 bytes out',
    body: chat(LONG_QUESTION),
    accounts: FEW_ACCOUNTS,
    streamed: false,
    needsAccounts: false,
  },
  {
    name: 'streamed chat',
    about: '100 chunks of content, 5 ms apart, so each is its own read and write; figures are per chunk',
    body: chat(QUESTION, { stream: true }),
    accounts: FEW_ACCOUNTS,
    streamed: true,
    needsAccounts: false,
  },
  {
    name: '64 accounts',
    about: 'small chat, 64 accounts in turn',
    body: chat(QUESTION),
    accounts: MOST_ACCOUNTS,
    streamed: false,
    needsAccounts: true,
  },
  {
    name: 'one hot account',
    about: 'small chat, all of one account',
    body: chat(QUESTION),
    accounts: 1,
    streamed: false,
    needsAccounts: true,
  },
];

export const SMALL_CHAT = CASES[0]!;
export const STREAMED_CHAT = CASES[2]!;

/** Not among the cases that are compared: what forwards it costs is the size of its answer. */
export const IMAGE: Case = {
  name: 'image',
  about: 'one small image, asked for as base64',
  body: JSON.stringify({ endpoint: 'svc_images', model: 'i', prompt: QUESTION, response_format: 'b64_json' }),
  accounts: FEW_ACCOUNTS,
  streamed: false,
  needsAccounts: true,
  path: '/api/public/v1/images/generations',
};

const response = (name: string, store: boolean): Case => ({
  name,
  about: 'the question of the small chat, as a response',
  body: JSON.stringify({ model: 'm', input: QUESTION, max_output_tokens: 256, store }),
  accounts: FEW_ACCOUNTS,
  streamed: false,
  needsAccounts: true,
  path: '/v1/responses',
});

/** Only what storing costs is measured: beside the first, and in profiles. */
export const PLAIN_RESPONSE = response('plain response', false);
export const STORED_RESPONSE = response('stored response', true);

/** The load of a case on a contender: one plan for each of its nodes. */
export function plansFor(
  { body, accounts, path }: Case,
  { urls, headers }: Contender,
  run: { readonly seconds: number; readonly connections?: number; readonly ratePerSecond?: number },
): LoadPlan[] {
  const requests = headers.slice(0, accounts).map((one) => ({ headers: one, body }));
  const { seconds, connections = CONNECTIONS, ratePerSecond } = run;
  return urls.map((url) => ({
    url: path === undefined ? url : new URL(path, url).href,
    requests,
    seconds,
    connections: Math.ceil(connections / urls.length),
    ratePerSecond: ratePerSecond === undefined ? undefined : ratePerSecond / urls.length,
  }));
}
