import type { Kysely } from 'kysely';
import { requestIdAt } from '../std/ids.ts';
import type { Schema } from '../store/schema.ts';
import type { ImageJobRow } from './image-job-store.ts';
import type { Reader } from './reader.ts';

interface Parts {
  readonly db: Kysely<Schema>;
  readonly reader: Reader;
}

export interface ListedImageJob extends Pick<
  ImageJobRow,
  'id' | 'state' | 'error' | 'created_at' | 'ended_at'
> {
  readonly endpoint: string | null;
  readonly model: string | null;
  readonly prompt: string | null;
  readonly count: number;
  readonly charged: number | null;
  readonly images: readonly { readonly id: string; readonly prompt: string }[];
}

const MAX_JOBS = 20;
/** No job runs so long: older rows need not be looked at. */
const LONGEST_MS = 86_400_000;
/** How many of the latest images tell how long a model takes. */
const MEASURED_IMAGES = 100;

/** The account's jobs that run, and those that ended after `endedAfter`; the newest first. */
export async function imageJobsOf(
  parts: Parts,
  accountId: string,
  endedAfter: number,
): Promise<ListedImageJob[]> {
  const rows = await parts.reader.all(
    parts.db
      .selectFrom('image_job')
      .leftJoin('closed_request as receipt', 'receipt.id', 'image_job.id')
      .select([
        'image_job.id',
        'image_job.state',
        'image_job.request',
        'image_job.error',
        'image_job.created_at',
        'image_job.ended_at',
        'receipt.endpoint',
        'receipt.model',
        'receipt.charged',
      ]) // prettier-ignore
      .where('image_job.account_id', '=', accountId)
      .where('image_job.id', '>=', requestIdAt(endedAfter - LONGEST_MS))
      .where((where) =>
        where.or([where('image_job.ended_at', 'is', null), where('image_job.ended_at', '>', endedAfter)]),
      )
      .orderBy('image_job.id', 'desc')
      .limit(MAX_JOBS),
  );
  const jobs = rows
    .map((row) => ({ row, kept: keptRequest(row.request) }))
    .filter(({ kept }) => !kept?.isPlain);
  const images = await imagesOf(
    parts,
    accountId,
    jobs.filter(({ row }) => row.state === 'done').map(({ row }) => row.id),
  );
  return jobs.map(({ row, kept }) => {
    const own = images.filter(({ request_id }) => request_id === row.id);
    return {
      ...row,
      endpoint: row.endpoint ?? kept?.selector.code ?? null,
      model: row.model ?? kept?.selector.model ?? null,
      prompt: kept?.request.prompt ?? own[0]?.prompt ?? null,
      count: kept?.request.n ?? (own.length || 1),
      images: own,
    };
  });
}

/** What a job's row holds until it ends; `KeptCallText` of the API writes it. */
interface KeptRequest {
  readonly selector: { readonly code?: string; readonly model?: string };
  readonly request: { readonly prompt: string; readonly n?: number };
  /** The client waits for the images and did not ask for a job. */
  readonly isPlain?: boolean;
}

function keptRequest(text: string | null): KeptRequest | undefined {
  return text === null ? undefined : (JSON.parse(text) as KeptRequest);
}

async function imagesOf({ db, reader }: Parts, accountId: string, requestIds: readonly string[]) {
  if (requestIds.length === 0) return [];
  return await reader.all(
    db
      .selectFrom('image')
      .select(['id', 'request_id', 'prompt'])
      .where('request_id', 'in', requestIds)
      .where('account_id', '=', accountId)
      .orderBy('id'),
  );
}

export interface ImageTime {
  readonly endpoint: string;
  readonly model: string;
  readonly durationMs: number;
}

/** How long the requests of the account's latest images took. */
export async function latestImageTimes({ db, reader }: Parts, accountId: string): Promise<ImageTime[]> {
  const rows = await reader.all(
    db
      .selectFrom('image')
      .innerJoin('closed_request as receipt', 'receipt.id', 'image.request_id')
      .select(['receipt.endpoint', 'receipt.model', 'receipt.duration_ms'])
      .where('image.account_id', '=', accountId)
      .where('receipt.outcome', '=', 'completed')
      .orderBy('image.created_at', 'desc')
      .limit(MEASURED_IMAGES),
  );
  return rows.flatMap(({ endpoint, model, duration_ms: durationMs }) =>
    durationMs === null ? [] : [{ endpoint, model, durationMs }],
  );
}
