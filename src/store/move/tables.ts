/**
 * What a move from SQLite to Postgres does with each table, in the order in which they are moved: a table comes after those
 * that its rows refer to.
 */
export const TABLES: Readonly<Record<string, Treatment>> = {
  account: { kind: 'moved', madeBySchema: `role = 'system' AND balance = 0` },
  auth_user: { kind: 'moved' },
  auth_account: { kind: 'moved' },
  auth_passkey: { kind: 'moved' },
  auth_session: { kind: 'moved' },
  auth_two_factor: { kind: 'moved' },
  auth_verification: { kind: 'moved' },
  preference: { kind: 'moved' },
  reset_link: { kind: 'moved' },
  invite: { kind: 'moved' },
  sign_in_attempt: { kind: 'moved' },
  redeem_code: { kind: 'moved' },
  team_invite: { kind: 'moved' },
  tag_choice: { kind: 'moved' },
  operator: { kind: 'moved' },
  operator_token: { kind: 'moved' },
  operator_grant: { kind: 'moved' },
  // A command such as `doctor` writes which secret the database belongs to before anything else is in it.
  setting: { kind: 'moved', only: `key <> 'move'`, madeBySchema: `key = 'secret.fingerprint'` },
  provider_key: { kind: 'moved' },
  catalog_version: { kind: 'moved' },
  catalog_plan: { kind: 'moved' },
  backend: { kind: 'moved' },
  node: { kind: 'moved' },
  price: { kind: 'moved' },
  route: { kind: 'moved' },
  hold: { kind: 'moved' },
  entry: { kind: 'moved' },
  debt: { kind: 'moved' },
  wallet_move: { kind: 'moved' },
  archived_day: { kind: 'moved' },
  statement: { kind: 'moved' },
  cost_entry: { kind: 'moved' },
  payment: { kind: 'moved' },
  payment_problem: { kind: 'moved' },
  payment_reversal: { kind: 'moved' },
  top_up: { kind: 'moved' },
  usage_day: { kind: 'moved' },
  usage_client: { kind: 'moved' },
  usage_quarter: { kind: 'moved' },
  usage_saving: { kind: 'moved' },
  usage_ten_days: { kind: 'moved' },
  usage_total: { kind: 'moved' },
  backend_day: { kind: 'moved' },
  model_day: { kind: 'moved' },
  refused_call: { kind: 'moved' },
  answer: { kind: 'moved' },
  image_job: { kind: 'moved' },
  response_storage: { kind: 'moved' },
  stored_response: { kind: 'moved' },
  conversation: { kind: 'moved' },
  conversation_item: { kind: 'moved' },
  // Nodes on Postgres share no folder: images that are files go into their rows.
  image_object: { kind: 'moved', only: `place <> 'files'` },
  image: { kind: 'moved' },
  image_thumbnail: { kind: 'moved' },
  receipt_link: { kind: 'moved' },
  notice: { kind: 'moved' },
  outbox: { kind: 'moved' },
  webhook: { kind: 'moved' },
  audit: { kind: 'moved' },
  request_tag: { kind: 'moved' },
  receipt: { kind: 'moved' },
  schema_step: { kind: 'made anew', by: 'the migrations of the database itself' },
  stored_function: { kind: 'made anew', by: 'every node that starts, and only on Postgres' },
};

type Treatment = MovedTable | { readonly kind: 'made anew'; readonly by: string };

interface MovedTable {
  readonly kind: 'moved';
  /** Which rows, if not all of them. */
  readonly only?: string;
  /** Rows that an otherwise empty database may have; those of the data folder take their place. */
  readonly madeBySchema?: string;
}

export const MOVED: readonly (MovedTable & { readonly name: string })[] = Object.entries(TABLES).flatMap(
  ([name, treatment]) => (treatment.kind === 'moved' ? [{ name, ...treatment }] : []),
);
