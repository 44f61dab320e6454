import type { ColumnType, Generated, Selectable } from 'kysely';
import type { ImagePlace } from './image-objects.ts';

/** The sign-in library's tables, with its column names, and an account's console preferences. */
export interface AuthSchema {
  auth_user: AuthUserTable;
  auth_session: AuthSessionTable;
  auth_account: AuthAccountTable;
  auth_verification: AuthVerificationTable;
  auth_two_factor: AuthTwoFactorTable;
  auth_passkey: AuthPasskeyTable;
  reset_link: ResetLinkTable;
  sign_in_attempt: SignInAttemptTable;
  preference: PreferenceTable;
}

/** Text of ISO 8601 in SQLite, a date from Postgres; both databases take the text. */
type Moment = ColumnType<string | Date, string, string>;
/** 0 or 1 in SQLite, a boolean from Postgres; both databases take a boolean. */
type Flag = ColumnType<number | boolean, boolean, boolean>;
/** May be left out of an insert; absent means NULL. */
export type Nullable<T> = ColumnType<T | null, T | null | undefined, T | null>;

interface AuthUserTable {
  /** The same id as the account's. */
  id: string;
  name: string;
  email: string;
  emailVerified: Flag;
  image: Nullable<string>;
  createdAt: Moment;
  updatedAt: Moment;
  twoFactorEnabled: ColumnType<number | boolean | null, boolean | null | undefined, boolean | null>;
}

interface AuthSessionTable {
  id: string;
  expiresAt: Moment;
  token: string;
  createdAt: Moment;
  updatedAt: Moment;
  ipAddress: Nullable<string>;
  userAgent: Nullable<string>;
  userId: string;
  /** When the password was last entered again in this session, milliseconds. */
  confirmedAt: Nullable<number>;
}

interface AuthAccountTable {
  id: string;
  accountId: string;
  providerId: string;
  userId: string;
  accessToken: Nullable<string>;
  refreshToken: Nullable<string>;
  idToken: Nullable<string>;
  scope: Nullable<string>;
  /** PHC string of argon2id; only with the provider `credential`. */
  password: Nullable<string>;
  createdAt: Moment;
  updatedAt: Moment;
}

interface AuthVerificationTable {
  id: string;
  identifier: string;
  value: string;
  expiresAt: Moment;
  createdAt: Moment;
  updatedAt: Moment;
}

interface AuthTwoFactorTable {
  id: string;
  secret: string;
  backupCodes: string;
  userId: string;
}

interface AuthPasskeyTable {
  id: string;
  name: Nullable<string>;
  publicKey: string;
  userId: string;
  credentialID: string;
  counter: number;
  deviceType: string;
  backedUp: Flag;
  transports: Nullable<string>;
  createdAt: ColumnType<string | Date | null, string | null | undefined, string | null>;
  /** The authenticator's model, if it tells. */
  aaguid: Nullable<string>;
  /** When it was last used to sign in, milliseconds. */
  usedAt: Nullable<number>;
}

interface ResetLinkTable {
  account_id: string;
  token_hash: string;
  created_by: string;
  created_at: number;
  expires_at: number;
}

interface SignInAttemptTable {
  /** A keyed hash of what is counted. */
  key: string;
  count: number;
  at: number;
  expires_at: number;
}

interface PreferenceTable {
  account_id: string;
  language: Nullable<string>;
  theme: 'system' | 'light' | 'dark';
}

/** Messages that are sent, where webhooks go, and which notices were raised. */
export interface OutboxSchema {
  outbox: OutboxTable;
  webhook: WebhookTable;
  notice: NoticeTable;
}

interface OutboxTable {
  /** Sorts by time. */
  id: string;
  kind: OutboxKind;
  /** The event of a webhook, the template of a mail. */
  topic: string;
  /** Whom it is about; '' for the operator. */
  account_id: string;
  /** A mail address, or the id of a row of `webhook`. */
  destination: string;
  once: Nullable<string>;
  /** Encrypted JSON, until the message is sent or given up. */
  payload: Nullable<string>;
  state: Generated<OutboxState>;
  attempts: Generated<number>;
  /** JSON of the attempts, oldest first. */
  history: Generated<string>;
  next_at: number;
  expires_at: number;
  created_at: number;
  finished_at: Nullable<number>;
}

export type OutboxKind = 'mail' | 'webhook';
type OutboxState = 'waiting' | 'sent' | 'failed';
export type OutboxRow = Selectable<OutboxTable>;

interface WebhookTable {
  id: string;
  /** '' for the operator. */
  account_id: string;
  url: string;
  /** JSON list of event types. */
  events: string;
  sealed: string;
  hint: string;
  /** The secret before a rotation, which signs too until `old_until`. */
  old_sealed: Nullable<string>;
  old_until: Nullable<number>;
  created_at: number;
  last_at: Nullable<number>;
  last_error: Nullable<string>;
  failing_since: Nullable<number>;
  failures: Generated<number>;
  paused_at: Nullable<number>;
  paused_reason: Nullable<string>;
  /** A chat tool, whose address is what is sealed; null: signed JSON for a program. */
  format: Nullable<string>;
  /** The language of messages to a chat tool. */
  language: Nullable<string>;
}

export type WebhookRow = Selectable<WebhookTable>;

/** A condition that was reported; `mark` says which occurrence of it. */
interface NoticeTable {
  account_id: string;
  topic: string;
  mark: string;
  created_at: number;
}

export interface PaymentSchema {
  payment: PaymentTable;
  payment_reversal: PaymentReversalTable;
  payment_problem: PaymentProblemTable;
  top_up: TopUpTable;
}

/** A payment that was requested from the provider. Nothing about a card is in any column. */
export interface PaymentTable {
  id: string;
  account_id: string;
  /** `card`: a card is saved for later, and the amount is zero. */
  kind: PaymentKind;
  state: PaymentState;
  amount: number;
  session_id: Nullable<string>;
  intent_id: Nullable<string>;
  /** Why it failed, in the provider's word. */
  reason: Nullable<string>;
  attempted_at: Nullable<number>;
  card_saved_at: Nullable<number>;
  created_at: number;
  finished_at: Nullable<number>;
}

type PaymentKind = 'top_up' | 'automatic' | 'card';
type PaymentState = 'open' | 'paid' | 'failed';

/** A refund or a dispute of a payment. */
export interface PaymentReversalTable {
  id: string;
  kind: 'refund' | 'dispute';
  intent_id: string;
  account_id: Nullable<string>;
  amount: number;
  /** An index of `REVERSAL_STAGES`; it only rises. */
  stage: number;
  taken: Generated<number>;
  lost: Generated<number>;
  /** What is still to be taken, once running requests have released it. */
  owed: Generated<number>;
  created_at: number;
  booked_at: Nullable<number>;
  returned_at: Nullable<number>;
}

/** An event that was refused. */
export interface PaymentProblemTable {
  event_id: string;
  event_type: string;
  object_id: string;
  account_id: Nullable<string>;
  reason: string;
  created_at: number;
}

/** The customer at the provider, the saved card's id there, and the automatic top-up. */
export interface TopUpTable {
  account_id: string;
  customer_id: string;
  method_id: Nullable<string>;
  enabled: Generated<number>;
  threshold: Generated<number>;
  amount: Generated<number>;
  monthly_max: Generated<number>;
  running: Nullable<string>;
  off_reason: Nullable<string>;
  removed_at: Nullable<number>;
  updated_at: number;
}

export interface ImageSchema {
  image: ImageTable;
  image_object: ImageObjectTable;
  image_thumbnail: ImageThumbnailTable;
}

interface ImageTable {
  id: string;
  account_id: string;
  request_id: string;
  mime: string;
  /** Empty if they are elsewhere. */
  bytes: Uint8Array;
  size: number;
  prompt: string;
  created_at: number;
  expires_at: number;
  /** Where the bytes are, if not in this row. */
  object: Nullable<string>;
  /** In pixels; absent for older images, and where the format does not say. */
  width: Nullable<number>;
  height: Nullable<number>;
  /** JSON of the request's other fields, to make it again. */
  parameters: Nullable<string>;
}

/** Bytes that are kept outside of the database, by their content. */
interface ImageObjectTable {
  /** The account and the hash of the bytes, with a part that tells two objects of the same bytes apart. */
  id: string;
  account_id: string;
  place: ImagePlace;
  hash: string;
  /** 0: no image uses it, or none yet. */
  is_used: number;
  changed_at: number;
}

interface ImageThumbnailTable {
  image_id: string;
  account_id: string;
  bytes: Uint8Array;
}

export interface ImageJobSchema {
  image_job: ImageJobTable;
}

/** An image request that is answered before its images are made; its id is the request's. */
export interface ImageJobTable {
  id: string;
  account_id: string;
  state: ImageJobState;
  /** JSON of what another process needs to know about the request; absent once the job has ended. */
  request: Nullable<string>;
  backend: Nullable<string>;
  /** The backend's own job; absent if it has none. */
  backend_job: Nullable<string>;
  deadline: number;
  /** JSON of the images that were stored. */
  result: Nullable<string>;
  /** JSON of a failure, in the public shape. */
  error: Nullable<string>;
  created_at: number;
  ended_at: Nullable<number>;
}

type ImageJobState = 'queued' | 'running' | 'done' | 'failed';

export interface ResponseSchema {
  response_storage: ResponseStorageTable;
  stored_response: StoredResponseTable;
  conversation: ConversationTable;
  conversation_item: ConversationItemTable;
}

/** What the stored responses and conversations of an account take. */
interface ResponseStorageTable {
  account_id: string;
  bytes: number;
  /** When its owner switched it off; then nothing is stored. */
  off_at: Nullable<number>;
}

/** One response with what is its own; what came before it is in the rows that `previous_id` leads to. */
interface StoredResponseTable {
  id: string;
  account_id: string;
  previous_id: Nullable<string>;
  conversation_id: Nullable<string>;
  state: StoredResponseState;
  /** Encrypted: a line of JSON with its own input and output, and one with the answer without its output. */
  items: Uint8Array;
  /** The length of the first line, before it was encrypted. */
  item_bytes: number;
  /** Always empty. */
  head: Uint8Array;
  /** What the row counts for its account. */
  bytes: number;
  created_at: number;
  /** The request that makes the answer in the background; absent once it is over. */
  request_id: Nullable<string>;
}

export type StoredResponseState =
  | 'queued'
  | 'in_progress'
  | 'completed'
  | 'incomplete'
  | 'failed'
  | 'cancelled';

interface ConversationTable {
  id: string;
  account_id: string;
  /** Encrypted JSON of its metadata. */
  head: Uint8Array;
  /** What it counts for its account, with its items. */
  bytes: number;
  item_bytes: number;
  /** The place of the item that was added last. */
  last_place: number;
  /** The request whose answer will be added. */
  running: Nullable<string>;
  running_since: Nullable<number>;
  created_at: number;
}

interface ConversationItemTable {
  conversation_id: string;
  place: number;
  id: string;
  account_id: string;
  /** Encrypted JSON. */
  item: Uint8Array;
}

export type OperatorRole = 'owner' | 'full' | 'support' | 'finance' | 'read';

/** Who operates beside the owners, with tokens for programs. */
export interface OperatorSchema {
  operator: OperatorTable;
  operator_token: OperatorTokenTable;
  operator_grant: OperatorGrantTable;
}

interface OperatorTable {
  account_id: string;
  role: OperatorRole;
  given_by: string;
  given_at: number;
}

export interface OperatorTokenTable {
  id: string;
  name: string;
  role: OperatorRole;
  token_hash: string;
  token_hint: string;
  /** One a line. */
  networks: Nullable<string>;
  created_by: string;
  created_at: number;
  expires_at: number;
  used_at: Nullable<number>;
  ended_at: Nullable<number>;
}

interface OperatorGrantTable {
  once: string;
  operator_id: string;
  day: number;
  amount: number;
}

/** What is sold: every version of it, what takes effect later, and the keys of providers. */
export interface CatalogSchema {
  catalog_version: CatalogVersionTable;
  catalog_plan: CatalogPlanTable;
  provider_key: ProviderKeyTable;
}

interface CatalogVersionTable {
  id: Generated<number>;
  created_at: number;
  actor: string;
  note: string;
  yaml: string;
}

export interface CatalogPlanTable {
  id: Generated<number>;
  from_at: number;
  made_at: number;
  actor: string;
  note: string;
  text: string;
  base: string;
  tag: number;
  state: 'waiting' | 'published' | 'cancelled';
  ended_at: Nullable<number>;
  ended_by: Nullable<string>;
  version: Nullable<number>;
}

interface ProviderKeyTable {
  name: string;
  sealed: string;
  hint: string;
  updated_at: number;
}

/** What is kept beside receipts. */
export interface ReceiptSchema {
  receipt_link: ReceiptLinkTable;
  tag_choice: TagChoiceTable;
  request_tag: RequestTagTable;
}

/** Which tags of its requests a wallet's owner wants kept. */
interface TagChoiceTable {
  wallet_id: string;
  /** One a line; empty: none any more. */
  names: string;
  changed_at: number;
}

/** What a request said under a name that was asked for. Written at its admission, it leaves with its receipt. */
interface RequestTagTable {
  wallet_id: string;
  request_id: string;
  name: string;
  value: string;
}

/** A link that shows a receipt to others. What opens it is its signature, which is not here. */
interface ReceiptLinkTable {
  id: string;
  account_id: string;
  request_id: string;
  created_at: number;
  expires_at: number;
  /** When its owner ended it. */
  ended_at: Nullable<number>;
}
