import { eventually } from './node-process.ts';

/** A job as a client sees it. */
export interface SeenJob {
  readonly id: string;
  readonly status: 'queued' | 'running' | 'done' | 'failed';
  readonly created: number;
  readonly data?: readonly { readonly url: string; readonly revised_prompt?: string }[];
  readonly error?: { readonly code: string; readonly message: string };
}

export const ASYNC = { prefer: 'respond-async' };

export function jobPath(id: string): string {
  return `/api/public/v1/images/jobs/${id}`;
}

/** Asks until the job has ended. */
export async function endOfJob(url: string, token: string, id: string, withinMs = 60_000): Promise<SeenJob> {
  let seen: SeenJob | undefined;
  await eventually(
    `job ${id} ends`,
    async () => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${url}${jobPath(id)}`, { headers, keepalive: false });
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      seen = (await response.json()) as SeenJob;
      return seen.status === 'done' || seen.status === 'failed';
    },
    withinMs,
  );
  if (!seen) throw new Error('no answer');
  return seen;
}
