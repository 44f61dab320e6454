import { expect, test } from 'bun:test';
import { checkDiskSpace, diskSpaceOf } from './data-folder.ts';

const MEGABYTE = 1_048_576;

test('a disk with less than 512 MB left is a problem of the set-up', () => {
  const checked = (freeBytes: number) => checkDiskSpace('/data', { freeBytes, sizeBytes: 9e9 });
  expect(checked(512 * MEGABYTE)).toEqual({ ok: true, line: 'disk: 512 MB free for /data' });
  expect(checked(512 * MEGABYTE - 1)).toEqual({ ok: false, line: 'disk: 511 MB free for /data' });
  expect(checked(0)?.ok).toBe(false);
});

test('the space is that of the file system, and a folder that is not there has none', () => {
  const { freeBytes = 0, sizeBytes = 0 } = diskSpaceOf('/') ?? {};
  expect(freeBytes).toBeWithin(0, sizeBytes + 1);
  expect(diskSpaceOf('/no/such/folder')).toBeUndefined();
  expect(checkDiskSpace('/no/such/folder')).toBeUndefined();
});
