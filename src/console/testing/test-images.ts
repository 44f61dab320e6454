import { IMAGE_QUOTA_BYTES, ImageStore } from '../../activity/image-store.ts';
import type { Clock } from '../../std/clock.ts';
import { systemRandom } from '../../std/ids.ts';
import { silentLog } from '../../std/log.ts';
import type { Store } from '../../store/store.ts';

/** Images in rows of the store. */
export function testImages(store: Store, clock: Clock): ImageStore {
  const options = { storages: [], random: systemRandom, log: silentLog, quotaBytes: IMAGE_QUOTA_BYTES };
  return new ImageStore({ store, clock, ...options });
}
