import type { ColumnType, Generated, Selectable } from 'kysely';
import type { Period } from '../std/calendar.ts';
import type { DURATION_COLUMNS } from './receipt-codes.ts';
import type {
  AuthSchema,
  CatalogSchema,
  ImageJobSchema,
  ImageSchema,
  Nullable,
  OperatorSchema,
  OutboxSchema,
  PaymentSchema,
  ResponseSchema,
  ReceiptSchema,
} from './schema-services.ts';

/**
 * The types of all tables, the same on both databases. Amounts are nano-USD, times are milliseconds since 1970 unless the
 * name says otherwise, flags are 0 or 1. A migration that adds a table adds it here, or in schema-services.ts: sign-in,
 * messages, payments, images, what belongs to receipts, operators and the catalog are there.
 */
export interface Schema
  extends
    AuthSchema,
    CatalogSchema,
    ImageSchema,
    ImageJobSchema,
    OperatorSchema,
    OutboxSchema,
    PaymentSchema,
    ResponseSchema,
    ReceiptSchema {
  account: AccountTable;
  entry: EntryTable;
  debt: DebtTable;
  wallet_move: WalletMoveTable;
  team_invite: TeamInviteTable;
  redeem_code: RedeemCodeTable;
  hold: HoldTable;
  receipt: ReceiptTable;
  request: RequestView;
  running_request: RequestView;
  closed_request: RequestView;
  price: PriceTable;
  route: RouteTable;
  backend: NameTable;
  node: NameTable;
  archived_day: ArchivedDayTable;
  usage_day: UsageDayTable;
  backend_day: BackendDayTable;
  usage_quarter: UsageQuarterTable;
  usage_client: UsageClientTable;
  usage_saving: UsageSavingTable;
  usage_total: UsageTotalTable;
  usage_ten_days: UsageTenDaysTable;
  model_day: ModelDayTable;
  cost_entry: CostEntryTable;
  statement: StatementTable;
  answer: AnswerTable;
  setting: SettingTable;
  invite: InviteTable;
  audit: AuditTable;
  refused_call: RefusedCallTable;
}

type Default<T> = Generated<T>;
/** A column of a view. */
type Read<T> = ColumnType<T, never, never>;

export interface AccountTable {
  id: string;
  email: string;
  role: Default<AccountRole>;
  status: Default<AccountStatus>;
  token_hash: Nullable<string>;
  token_hint: Nullable<string>;
  token_created_at: Nullable<number>;
  token_used_at: Nullable<number>;
  token_exposed_at: Nullable<number>;
  balance: Default<number>;
  held: Default<number>;
  open_holds: Default<number>;
  chat_arrival_us: Default<number>;
  images_arrival_us: Default<number>;
  chat_per_minute: Nullable<number>;
  images_per_minute: Nullable<number>;
  concurrent: Nullable<number>;
  monthly_limit: Nullable<number>;
  /** UTC, yyyymm. `month_spent` belongs to this month; in a later one it counts as zero. */
  month: Default<number>;
  month_spent: Default<number>;
  low_balance: Nullable<number>;
  /** Why a disabled account is paused: it may still sign in, and is told so. */
  paused_reason: Nullable<string>;
  /** Of refunds and disputes, while running requests hold the money. It cannot be spent. */
  owed: Default<number>;
  /** Since when no card is taken, until an operator allows it. */
  cards_off_at: Nullable<number>;
  created_at: number;
  kind: Default<AccountKind>;
  /** The name of a team or an app; for a member, the person's address is shown instead. */
  name: Nullable<string>;
  /** The team that pays for this account's requests, for ever; NULL: the account itself. */
  wallet_id: Nullable<string>;
  /** For a member: the person's own account. */
  person_id: Nullable<string>;
  team_role: Nullable<TeamRole>;
  /** When a team was closed, or a member or app left it. */
  ended_at: Nullable<number>;
  /** What its running requests hold of the team's balance. */
  team_held: Default<number>;
  budget: Nullable<number>;
  budget_per: Nullable<Period>;
  /** The period to which the next two belong: when it began, and that day (yyyymmdd). */
  budget_from: Default<number>;
  budget_from_day: Default<number>;
  budget_used: Default<number>;
  budget_held: Default<number>;
  /** Patterns of `endpoint/model`, one a line. */
  token_models: Nullable<string>;
  /** Networks (CIDR), one a line. */
  token_networks: Nullable<string>;
  token_expires_at: Nullable<number>;
  price_group: Nullable<string>;
}

/** A team is a balance without a token; its members and apps are accounts that spend it. */
export type AccountKind = 'person' | 'team' | 'member' | 'app';
export type TeamRole = 'owner' | 'admin' | 'viewer' | 'member';
type AccountRole = 'user' | 'admin' | 'system';
export type AccountStatus = 'active' | 'disabled';
export type AccountRow = Selectable<AccountTable>;

export interface EntryTable {
  id: Generated<number>;
  account_id: string;
  kind: EntryKind;
  /** Signed: a charge is negative. */
  amount: number;
  request_id: Nullable<string>;
  once: Nullable<string>;
  cause: string;
  actor: string;
  created_at: number;
}

export type EntryKind = 'credit' | 'charge' | 'refund' | 'adjustment' | 'overrun';

/** The part of a refund or dispute that could not be taken at once. */
interface DebtTable {
  /** The key of the entry that took the rest, with the wallet's id where that is not the payer's. */
  once: string;
  account_id: string;
  owed: number;
  /** What was still owed when the money came back to the operator. */
  returned: Default<number>;
  created_at: number;
}

/** Money that went from one balance to another; the keys of its two entries have the id. */
interface WalletMoveTable {
  id: string;
  from_id: string;
  to_id: string;
  amount: number;
  created_at: number;
}

export interface TeamInviteTable {
  secret_hash: string;
  team_id: string;
  email: Nullable<string>;
  role: TeamRole;
  budget: Nullable<number>;
  budget_per: Nullable<Period>;
  /** The member who made it. */
  created_by: string;
  created_at: number;
  expires_at: number;
  used_at: Nullable<number>;
}

interface RedeemCodeTable {
  code_hash: string;
  hint: string;
  batch: string;
  amount: number;
  created_by: string;
  created_at: number;
  expires_at: Nullable<number>;
  redeemed_by: Nullable<string>;
  redeemed_at: Nullable<number>;
}

/** A running request: money set aside until the receipt is written and this row is deleted. */
export interface HoldTable extends UsageColumns {
  id: string;
  account_id: string;
  held: number;
  lease_until: number;
  created_at: number;
  /** Numbers of rows of `node`, `price` and `route`. */
  node: number;
  price: number;
  route: number;
  input_ceiling: number;
  /** Per choice; may have been lowered to what the balance affords. Images: 0. */
  output_cap: number;
  /** The client's `n`; for images, how many. */
  choices: number;
  stream: number;
  client: string;
  /** Price × usage so far, where SQL cannot compute it. */
  owed: Nullable<number>;
}

/** What was used. In a hold: how far the meter has come. */
interface UsageColumns {
  input_tokens: Default<number>;
  cached_tokens: Default<number>;
  output_tokens: Default<number>;
  reasoning_tokens: Default<number>;
  images: Default<number>;
  /** JSON of what has no column; see `ExtraUsage` of the ledger. */
  extra: Nullable<string>;
}

/** A request that is over, written once in the transaction that deletes its hold. It is also its charge. */
export interface ReceiptTable extends UsageColumns {
  id: string;
  account_id: string;
  held: number;
  charged: number;
  overrun: number;
  created_at: number;
  booked_at: number;
  node: number;
  price: number;
  route: number;
  backend: Nullable<number>;
  output_cap: number;
  choices: number;
  first_byte_ms: Nullable<number>;
  duration_ms: number;
  /** Words by number; see receipt-codes.ts. */
  state: number;
  outcome: number;
  source: Nullable<number>;
  stream: number;
  /** 1: it was booked long after its id was made. */
  late: number;
  client: string;
  /** JSON of what is rarely needed; see `detailText` of the ledger. */
  detail: Nullable<string>;
  /** The cost at the backend that served; NULL: not known. */
  cost: Nullable<number>;
  /** What failed attempts may cost at other backends. */
  possible_cost: Default<number>;
}

interface PriceTable {
  id: Generated<number>;
  /** JSON of the ledger's `Price`. */
  value: string;
  input: number;
  cached_input: number;
  output: number;
  image: number;
}

interface RouteTable {
  id: Generated<number>;
  /** Which rate limit and kind of price apply: `chat` or `images`. */
  kind: string;
  endpoint: string;
  model: string;
}

interface NameTable {
  id: Generated<number>;
  name: string;
}

/** Read-only views of holds and receipts together, of holds, and of receipts, with words in place of numbers. */
interface RequestView {
  id: Read<string>;
  account_id: Read<string>;
  state: Read<StoredRequestState>;
  held: Read<number>;
  charged: Read<number>;
  overrun: Read<number>;
  node: Read<string>;
  /** Of holds only. */
  lease_until: Read<number | null>;
  kind: Read<string>;
  endpoint: Read<string>;
  model: Read<string>;
  price: Read<string>;
  /** Of holds only. */
  input_ceiling: Read<number | null>;
  output_cap: Read<number>;
  choices: Read<number>;
  stream: Read<number>;
  client: Read<string>;
  created_at: Read<number>;
  /** When it was booked. This and all that follow, except the usage, are set for receipts only. */
  finished_at: Read<number | null>;
  first_byte_ms: Read<number | null>;
  duration_ms: Read<number | null>;
  input_tokens: Read<number>;
  cached_tokens: Read<number>;
  output_tokens: Read<number>;
  reasoning_tokens: Read<number>;
  images: Read<number>;
  usage_source: Read<string | null>;
  outcome: Read<string | null>;
  error_code: Read<string | null>;
  finish_reason: Read<string | null>;
  upstream: Read<string | null>;
  /** The attempts as the ledger's `detailText` writes them. */
  attempts: Read<string | null>;
  /** The number of `outcome`; indexes have it. */
  outcome_code: Read<number | null>;
  /** JSON of the usage that has no column. */
  extra: Read<string | null>;
  cost: Read<number | null>;
  possible_cost: Read<number>;
}

type StoredRequestState = 'pending' | 'posted' | 'void' | 'expired';
export type RequestRow = Selectable<RequestView>;

/** A day of an account whose receipts were archived, or are being archived: the sums of those that are gone. */
interface ArchivedDayTable {
  account_id: string;
  /** yyyymmdd, of the receipts' admission. */
  day: number;
  requests: Default<number>;
  charged: Default<number>;
  overrun: Default<number>;
  /** The charge that stands for the receipts; absent until all of them are gone. */
  entry_id: Nullable<number>;
}

/** Sums of closed requests by the UTC day of their admission; `account_id` '' is the sum over all accounts. */
export interface UsageDayTable {
  account_id: string;
  /** yyyymmdd. */
  day: number;
  endpoint: string;
  model: string;
  requests: Default<number>;
  failures: Default<number>;
  input_tokens: Default<number>;
  cached_tokens: Default<number>;
  output_tokens: Default<number>;
  reasoning_tokens: Default<number>;
  images: Default<number>;
  charged: Default<number>;
  cost: Default<number>;
  possible_cost: Default<number>;
  /** What was charged for requests whose cost is known. */
  costed: Default<number>;
  /** How much more it would have cost without cached input; negative where cached input is the dearer one. */
  saved: Default<number>;
}

/** Sums of closed requests by the UTC day of their admission, per backend and model, of all accounts together. */
export interface BackendDayTable extends Record<(typeof DURATION_COLUMNS)[number], Default<number>> {
  /** yyyymmdd. */
  day: number;
  /** The one that served, or was tried last; '' for none. */
  backend: string;
  model: string;
  requests: Default<number>;
  failures: Default<number>;
  charged: Default<number>;
  /** What the provider charges for it. */
  cost: Default<number>;
  /** What it may take for attempts that failed, of requests that may have been served by others. */
  possible_cost: Default<number>;
  costed: Default<number>;
}

/** Sums of closed requests, counted from their receipts, and kept when those leave. */
interface CountedSums {
  requests: Default<number>;
  failures: Default<number>;
  input_tokens: Default<number>;
  cached_tokens: Default<number>;
  output_tokens: Default<number>;
  reasoning_tokens: Default<number>;
  images: Default<number>;
  charged: Default<number>;
  /** How much more it would have cost without cached input; negative where cached input is the dearer one. */
  saved: Default<number>;
}

interface UsageQuarterTable extends CountedSums {
  account_id: string;
  /** The time of the admission, in quarters of an hour since 1970. */
  quarter: number;
}

/** Only the clients with the most requests of a day. */
interface UsageClientTable extends CountedSums {
  account_id: string;
  /** yyyymmdd, of the admission. */
  day: number;
  client: string;
}

/** Only of requests with cached input. */
interface UsageSavingTable {
  account_id: string;
  /** yyyymmdd, of the admission. */
  day: number;
  endpoint: string;
  model: string;
  requests: Default<number>;
  saved: Default<number>;
}

/** Sums of `usage_day`, of days that are over. */
interface AddedSums {
  requests: Default<number>;
  failures: Default<number>;
  input_tokens: Default<number>;
  cached_tokens: Default<number>;
  output_tokens: Default<number>;
  reasoning_tokens: Default<number>;
  images: Default<number>;
  charged: Default<number>;
}

interface UsageTotalTable extends AddedSums {
  account_id: string;
  /** yyyymmdd. */
  day: number;
  /** Empty: all of them. Only a day with such a row is complete. */
  endpoint: string;
  cost: Default<number>;
  possible_cost: Default<number>;
  costed: Default<number>;
}

interface UsageTenDaysTable extends AddedSums {
  account_id: string;
  /** yyyymmdd: the first, eleventh or twenty-first of a month; the last ten days end with it, and may be eleven. */
  first_day: number;
  /** Empty, as the model: all of them. Only days with such a row are complete. */
  endpoint: string;
  model: string;
  /** NULL: written by a version that did not know of it. */
  saved: number | null;
}

/**
 * How requests for a model went, by the UTC day of their arrival, of all accounts together. Counted from receipts, and
 * kept when those leave. `model` '' is the sum over all models of the endpoint.
 */
interface ModelDayTable {
  endpoint: string;
  model: string;
  /** yyyymmdd. */
  day: number;
  requests: Default<number>;
  /** Requests that failed because of this server or a backend. */
  failures: Default<number>;
  /** JSON: how many streams had their first token, and images their end, within each of some times. */
  waits: Default<string>;
  /** JSON: how many streams came at each of some speeds. */
  speeds: Default<string>;
}

/** What a provider's bill changed in the sums of a day, in nano-USD. */
interface CostEntryTable {
  id: Generated<number>;
  /** yyyymmdd. */
  day: number;
  backend: string;
  model: string;
  cost: number;
  /** Never above zero: what was possible becomes known. */
  possible_cost: number;
  /** Which bill. */
  cause: string;
  actor: string;
  created_at: number;
}

/** A monthly statement that was issued. Its amounts are nano-USD. */
interface StatementTable {
  number: number;
  account_id: string;
  /** UTC, yyyymm. */
  month: number;
  starts_at: number;
  /** Exclusive. */
  ends_at: number;
  opening: number;
  /** Payments, credits, refunds and adjustments. */
  moved: number;
  /** For requests that began in the month. */
  charged: number;
  closing: number;
  issued_at: number;
  /** JSON of the rest. */
  content: string;
}

interface AnswerTable {
  account_id: string;
  idempotency_key: string;
  body_hash: string;
  request_id: string;
  state: 'running' | 'done';
  status: Nullable<number>;
  headers: Nullable<string>;
  body: Nullable<Uint8Array>;
  lease_until: number;
  created_at: number;
  /** The charge of an answer that is complete; NULL: not known. */
  charged: Nullable<number>;
}

interface SettingTable {
  key: string;
  value: string;
  updated_at: number;
}

export interface InviteTable {
  code_hash: string;
  hint: string;
  created_by: string;
  created_at: number;
  expires_at: Nullable<number>;
  used_by: Nullable<string>;
  used_at: Nullable<number>;
}

export interface AuditTable {
  id: Generated<number>;
  at: number;
  actor: string;
  action: string;
  target: string;
  /** JSON. */
  detail: string;
}

/** All calls of an account that were refused alike within a few minutes. */
export interface RefusedCallTable {
  account_id: string;
  /** A hash of what the calls have in common. */
  id: string;
  first_at: number;
  last_at: number;
  calls: number;
  /** Refused calls of the account, at the same time, that have no row. */
  left_out: Default<number>;
  /** The last of them. */
  request_id: string;
  /** The path of the operation. */
  operation: string;
  /** As the client wrote them; empty if it did not. */
  endpoint: string;
  model: string;
  client: string;
  status: number;
  reason: string;
  param: Nullable<string>;
  message: Nullable<string>;
}
