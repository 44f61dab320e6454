import { ImageJobStore } from '../activity/image-job-store.ts';
import { ImageJobs } from '../api/image-jobs.ts';
import { ImageLinks } from '../api/image-links.ts';
import type { RelayParts } from '../relay/call.ts';
import type { Log } from '../std/log.ts';
import { ImageFiles } from '../store/image-files.ts';
import type { LongestLife } from './longest-life.ts';
import type { PeriodicTask } from './periodic-tasks.ts';
import type { Services } from './services.ts';

export function makeImageLinks({ config: { publicUrl }, images, secret, clock }: Services): ImageLinks {
  return new ImageLinks({ store: images, key: secret.key('image links'), clock, publicUrl });
}

export function makeImageJobs(
  { config, store, clock, images }: Services,
  relay: RelayParts & { readonly lifetime: LongestLife },
  links: ImageLinks,
): ImageJobs {
  return new ImageJobs({
    relay,
    store: new ImageJobStore(store, clock, images),
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
export function imageTasks(services: Services, imageJobs: ImageJobs): PeriodicTask[] {
  const { store, clock, images, imagePlaces } = services;
  const jobs = new ImageJobStore(store, clock, images);
  const files = imagePlaces.find((place) => place instanceof ImageFiles);
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
