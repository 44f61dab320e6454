import type { PlaygroundReceipt } from '../../lib/answers.ts';
import { CHATS_KEY, readStored, writeStored } from '../../lib/storage.ts';
import type { AttachedFile } from './attachments.ts';
import type { Turn } from './conversation.ts';
import { parseForm, type AnswerForm, type AnswerFormat } from './structured/answerForm.ts';
import { isRecord } from './structured/schemaCheck.ts';
import { parseCalls } from './structured/toolCalls.ts';

/** The part of a turn that is kept. Images and PDF files are left out: a few would fill the browser's storage. */
type KeptTurn = Pick<
  Turn,
  'role' | 'text' | 'files' | 'reasoning' | 'status' | 'model' | 'error' | 'finish' | 'format' | 'toolCalls'
> & {
  readonly receipt?: PlaygroundReceipt;
};

export interface KeptChat {
  readonly id: string;
  readonly title: string;
  /** When it was last changed. */
  readonly at: number;
  /** Endpoint and model. */
  readonly choice: string;
  readonly system: string;
  /** Undefined for text without tools. */
  readonly form?: AnswerForm;
  readonly turns: readonly KeptTurn[];
}

export const MAX_CHATS = 50;
/** For one chat, and for all together; browsers give a site about five million characters. */
export const MAX_CHAT_CHARACTERS = 200_000;
const MAX_CHARACTERS = 3_000_000;
const MAX_TITLE = 80;

/** The chats of this account in this browser, newest first. Those of another account are neither shown nor kept. */
export function readChats(accountId: string): readonly KeptChat[] {
  const stored = readStored(CHATS_KEY);
  if (stored === undefined) return [];
  try {
    // Written below, in this browser; anything that is not a chat is left out.
    const kept = JSON.parse(stored) as { account?: unknown; chats?: unknown };
    if (kept.account !== accountId || !Array.isArray(kept.chats)) return [];
    return kept.chats.flatMap((one: unknown) => parseChat(one) ?? []);
  } catch {
    return [];
  }
}

export function writeChats(accountId: string, chats: readonly KeptChat[]): void {
  writeStored(CHATS_KEY, chats.length === 0 ? undefined : JSON.stringify({ account: accountId, chats }));
}

/** The newest that fit. A chat that is too long by itself is left out. */
export function withinBounds(chats: readonly KeptChat[]): readonly KeptChat[] {
  let left = MAX_CHARACTERS;
  return chats
    .toSorted((a, b) => b.at - a.at)
    .filter((chat) => {
      const size = JSON.stringify(chat).length;
      if (size > MAX_CHAT_CHARACTERS || size > left) return false;
      left -= size;
      return true;
    })
    .slice(0, MAX_CHATS);
}

export function titleOf(turns: readonly Pick<Turn, 'role' | 'text' | 'files'>[]): string {
  const first = turns.find(({ role }) => role === 'user');
  const [line = ''] = (first?.text.trim() || first?.files?.[0]?.name || '').split('\n');
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1)}…` : line;
}

export function keptTurn(turn: Turn): KeptTurn {
  const { role, text, reasoning, status, model, error, finish, format, toolCalls, receipt } = turn;
  return {
    role,
    text,
    reasoning,
    status,
    model,
    ...keptFiles(turn.files),
    ...(error && { error }),
    ...(finish !== undefined && { finish }),
    ...(format && { format }),
    ...(toolCalls && { toolCalls }),
    ...(receipt && { receipt }),
  };
}

function keptFiles(files: readonly AttachedFile[] = []): Pick<KeptTurn, 'files'> {
  const texts = files.filter(({ kind }) => kind === 'text');
  return texts.length === 0 ? {} : { files: texts };
}

function parseFiles(value: unknown): Pick<KeptTurn, 'files'> {
  return keptFiles(
    (Array.isArray(value) ? value : []).flatMap((file: unknown): AttachedFile[] =>
      isRecord(file) && typeof file['name'] === 'string' && typeof file['text'] === 'string'
        ? [{ kind: 'text', name: file['name'], text: file['text'] }]
        : [],
    ),
  );
}

const ROLES = ['user', 'assistant'] as const;
const STATUSES = ['done', 'stopped', 'failed'] as const;

/** A chat from a file, a link or the browser's storage; `undefined` if it is not one. */
export function parseChat(value: unknown): KeptChat | undefined {
  if (!isRecord(value)) return undefined;
  const { id, title, at, choice, system, turns } = value;
  if (typeof id !== 'string' || typeof title !== 'string' || typeof at !== 'number') return undefined;
  if (typeof choice !== 'string' || typeof system !== 'string' || !Array.isArray(turns)) return undefined;
  const parsed = turns.map((turn: unknown) => parseTurn(turn));
  const known = parsed.filter((turn) => turn !== undefined);
  if (known.length === 0 || known.length < parsed.length) return undefined;
  const form = value['form'] === undefined ? undefined : parseForm(value['form']);
  if (value['form'] !== undefined && !form) return undefined;
  return {
    id,
    title: title.slice(0, MAX_TITLE),
    at,
    choice,
    system,
    ...(form && { form }),
    turns: known,
  };
}

function parseTurn(value: unknown): KeptTurn | undefined {
  if (!isRecord(value) || typeof value['text'] !== 'string') return undefined;
  const role = ROLES.find((one) => one === value['role']);
  if (!role) return undefined;
  const { reasoning, model, error, finish, receipt } = value;
  const format = parseFormat(value['format']);
  const toolCalls = parseCalls(value['toolCalls']);
  return {
    role,
    text: value['text'],
    reasoning: typeof reasoning === 'string' ? reasoning : '',
    status: STATUSES.find((one) => one === value['status']) ?? 'done',
    model: typeof model === 'string' ? model : '',
    ...parseFiles(value['files']),
    ...(isRecord(error) &&
      typeof error['message'] === 'string' &&
      typeof error['status'] === 'number' && {
        error: { message: error['message'], status: error['status'] },
      }),
    ...(typeof finish === 'string' && { finish }),
    ...(format && { format }),
    ...(toolCalls && { toolCalls }),
    // Only chats stored by this browser have one: sharing leaves it out.
    ...(isRecord(receipt) && typeof receipt['requestId'] === 'string' && { receipt: receipt as never }),
  };
}

function parseFormat(value: unknown): AnswerFormat | undefined {
  if (!isRecord(value)) return undefined;
  if (value['kind'] === 'json') return { kind: 'json' };
  return value['kind'] === 'schema' && isRecord(value['schema'])
    ? { kind: 'schema', schema: value['schema'] }
    : undefined;
}
