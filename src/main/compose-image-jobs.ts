import { ImageJobStore, type OnImageJobEnded } from '../activity/image-job-store.ts';
import { ImageJobs } from '../api/image-jobs.ts';
import { ImageLinks } from '../api/image-links.ts';
import { storedImagesOf } from '../api/image-records.ts';
import type { RelayParts } from '../relay/call.ts';
import type { Log } from '../std/log.ts';
import { ImageFiles } from '../store/image-files.ts';
import type { LongestLife } from '../catalog/longest-request.ts';
import type { PeriodicTask } from './periodic-tasks.ts';
import type { Services } from './services.ts';

export function makeImageLinks({ config: { publicUrl }, images, secret, clock }: Services): ImageLinks {
  return new ImageLinks({ store: images, key: secret.key('image links'), clock, publicUrl });
}

export function makeImageJobs(
  services: Services,
  relay: RelayParts & { readonly lifetime: LongestLife },
  links: ImageLinks,
): ImageJobs {
  return new ImageJobs({
    relay,
    store: jobStore(services),
    links,
    max: services.config.maxImageJobs,
    longestMs: () => relay.lifetime.longestMs(),
  });
}

function jobStore({ store, clock, images, notices }: Services): ImageJobStore {
  const onEnded: OnImageJobEnded = (tx, { id: job, account_id: account, result, error }) => {
    const told = { accountId: account, once: job };
    if (error === null) {
      const data = { account, job, images: storedImagesOf(result).length };
      return notices.event(tx, { ...told, type: 'image_job.done', data });
    }
    // Written by `ImageJobs` alone.
    const { code } = JSON.parse(error) as { code: string };
    return notices.event(tx, { ...told, type: 'image_job.failed', data: { account, job, code } });
  };
  return new ImageJobStore({ store, clock, images, onEnded });
}

/** Runs at once at startup, for what an earlier process left behind, and again every few seconds. */
export async function takeOverJobs(jobs: ImageJobs, log: Log): Promise<void> {
  await jobs.takeOver().catch((error: unknown) => log.warn('image_jobs_not_taken_over', { error }));
}

/** Periodic work on images and jobs. */
export function imageTasks(services: Services, imageJobs: ImageJobs): PeriodicTask[] {
  const { clock, images, imageStorages } = services;
  const jobs = jobStore(services);
  const files = imageStorages.find((place) => place instanceof ImageFiles);
  const halfWritten: PeriodicTask[] = files
    ? [{ name: 'half-written images', everyMs: 600_000, run: () => files.sweepPartials(clock.now()) }]
    : [];
  return [
    ...halfWritten,
    { name: 'image jobs of other processes', everyMs: 5_000, run: () => imageJobs.takeOver() },
    { name: 'old image jobs', everyMs: 60_000, run: () => jobs.sweep() },
    { name: 'old images', everyMs: 60_000, run: () => images.sweep() },
    { name: 'objects of deleted images', everyMs: 60_000, run: () => images.sweepObjects() },
  ];
}
