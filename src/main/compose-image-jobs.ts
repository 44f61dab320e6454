import { ImageJobStore } from '../activity/image-job-store.ts';
import { makeImageStore } from '../activity/image-store.ts';
import { ImageJobs } from '../api/image-jobs.ts';
import { ImageLinks } from '../api/image-links.ts';
import type { RelayParts } from '../relay/call.ts';
import type { Log } from '../std/log.ts';
import type { LongestLife } from './longest-life.ts';
import type { PeriodicTask } from './periodic-tasks.ts';
import type { Services } from './services.ts';

export function makeImageLinks({ config, store, secret, clock, random }: Services): ImageLinks {
  const { imageQuotaBytes: quotaBytes, publicUrl } = config;
  const images = makeImageStore(store.db, { clock, random, quotaBytes });
  return new ImageLinks({ store: images, key: secret.key('image links'), clock, publicUrl });
}

export function makeImageJobs(
  { config, store, clock }: Services,
  relay: RelayParts & { readonly lifetime: LongestLife },
  links: ImageLinks,
): ImageJobs {
  return new ImageJobs({
    relay,
    store: new ImageJobStore(store, clock),
    links,
    max: config.maxImageJobs,
    longestMs: () => relay.lifetime.longestMs(),
  });
}

/** At the start, at once: what a process before this one left behind. It is tried again every few seconds. */
export async function takeOverJobs(jobs: ImageJobs, log: Log): Promise<void> {
  await jobs.takeOver().catch((error: unknown) => log.warn('image_jobs_not_taken_over', { error }));
}

/** What is done about images and jobs beside requests. */
export function imageTasks({ store, clock }: Services, imageJobs: ImageJobs): PeriodicTask[] {
  const images = makeImageStore(store.db, { clock });
  const jobs = new ImageJobStore(store, clock);
  return [
    { name: 'image jobs of other processes', everyMs: 5_000, run: () => imageJobs.takeOver() },
    { name: 'old image jobs', everyMs: 60_000, run: () => jobs.sweep() },
    { name: 'old images', everyMs: 60_000, run: () => images.sweep() },
  ];
}
