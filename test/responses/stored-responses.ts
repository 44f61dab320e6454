import { expect } from 'bun:test';
import type { Gateway, TestAccount } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';

/** What the tests about stored responses share. */

export const STORES = {
  SQLite: () => Promise.resolve({}),
  Postgres: async () => ({ databaseUrl: await (await testPostgres()).freshDatabase() }),
} as const;

export interface SeenResponse {
  readonly id: string;
  readonly status: string;
  readonly store: boolean;
  readonly previous_response_id: string | null;
  readonly output: readonly Readonly<Record<string, unknown>>[];
  readonly error?: { readonly code: string; readonly param: string | null; readonly message: string };
}

export type Asked = Readonly<Record<string, unknown>>;

/** The answer of `POST /v1/responses`, also where it was streamed. */
export async function ask(gateway: Gateway, { token }: TestAccount, body: Asked): Promise<SeenResponse> {
  const response = await gateway.post('/v1/responses', token, { model: 'svc_chat/m', input: 'Hi', ...body });
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  if (body['stream'] !== true) return JSON.parse(text) as SeenResponse;
  const last =
    text
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^data: /, '') ?? '';
  return (JSON.parse(last) as { response: SeenResponse }).response;
}

/** The error of a request that is refused. */
export async function refusal(
  gateway: Gateway,
  { token }: TestAccount,
  body: Asked,
): Promise<{ status: number; code: string; param: string | null }> {
  const response = await gateway.post('/v1/responses', token, { model: 'svc_chat/m', input: 'Hi', ...body });
  const { error } = (await response.json()) as SeenResponse;
  return { status: response.status, code: error?.code ?? '', param: error?.param ?? null };
}

export const NOT_FOUND = { status: 400, code: 'previous_response_not_found' };

export async function get(gateway: Gateway, { token }: TestAccount, path: string, method = 'GET') {
  const response = await gateway.fetch(path, { token, method });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** The sums by account are those of the rows. */
export async function expectTrueSums({ tollgate }: Gateway): Promise<void> {
  const { db } = tollgate.services.store;
  const sums = await db.selectFrom('response_storage').select(['account_id', 'bytes']).execute();
  const rows = [
    ...(await db.selectFrom('stored_response').select(['account_id', 'bytes']).execute()),
    ...(await db.selectFrom('conversation').select(['account_id', 'bytes']).execute()),
  ];
  const counted = new Map(sums.map(({ account_id }) => [account_id, 0]));
  for (const { account_id, bytes } of rows) counted.set(account_id, (counted.get(account_id) ?? 0) + bytes);
  expect(new Map(sums.map(({ account_id, bytes }) => [account_id, bytes]))).toEqual(counted);
}
