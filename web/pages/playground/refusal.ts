import { ApiError } from '../../lib/api.ts';

/** Why the server gave no answer, and what has to change before it does. */
export interface AnswerError {
  /** The server's words; empty if it cannot be reached. */
  readonly message: string;
  /** 0 if there was no answer. */
  readonly status: number;
  readonly missing?: Missing;
  /** When asking again may help; another model does not, since the limit is the account's. */
  readonly retryAt?: number;
}

interface Missing {
  /** Amounts as the server sends them: numbers with nine decimals. */
  readonly availableUsd: string;
  readonly requiredUsd: string;
  /** A limit or budget that money does not lift, and when it begins anew, if that is known. */
  readonly limit?: { readonly name: LimitName; readonly resetsAt: string | undefined };
}

const LIMIT_NAMES = ['month', 'budget_day', 'budget_week', 'budget_month', 'budget_total'] as const;
type LimitName = (typeof LIMIT_NAMES)[number];

const NANO_PLACES = 9;
const NEXT_SECOND_MS = 1_000;

export function answerError(failure: unknown): AnswerError {
  const message = failure instanceof Error ? failure.message : String(failure);
  if (!(failure instanceof ApiError)) return { message, status: 0 };
  if (failure.code === 'network') return { message: '', status: 0 };
  const { status, body, retryAfterMs } = failure;
  const after = retryAfterMs ?? (status === 429 ? NEXT_SECOND_MS : undefined);
  return {
    message,
    status,
    ...(status === 402 && body ? { missing: missingOf(body) } : {}),
    ...(after === undefined ? {} : { retryAt: Date.now() + after }),
  };
}

/** Another model would be refused for the same reason. */
export function isAccountsLimit({ status }: AnswerError): boolean {
  return status === 402 || status === 429;
}

function missingOf(body: Readonly<Record<string, unknown>>): Missing {
  const amount = (value: unknown): string => (typeof value === 'number' ? value.toFixed(NANO_PLACES) : '0');
  const { resets_at: resetsAt, limit } = body;
  const name = LIMIT_NAMES.find((one) => one === limit) ?? 'month';
  return {
    availableUsd: amount(body['available_usd']),
    requiredUsd: amount(body['required_usd']),
    ...(body['reason'] === 'limit_reached'
      ? { limit: { name, resetsAt: typeof resetsAt === 'string' ? resetsAt : undefined } }
      : {}),
  };
}
