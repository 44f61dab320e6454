/** Preloaded into a server: for each SIGIO it writes how many objects of each kind its heap has, to the file in `HEAP_PROBE`. */
import { renameSync, writeFileSync } from 'node:fs';
import { heapStats } from 'bun:jsc';

const heapOf = ({ heapCapacity, objectTypeCounts }: ReturnType<typeof heapStats>) => ({
  kilobytes: heapCapacity / 1024,
  kinds: objectTypeCounts,
});
const file = process.env['HEAP_PROBE'];
if (file !== undefined)
  process.on('SIGIO', () => {
    writeFileSync(`${file}.new`, JSON.stringify(heapOf(heapStats())));
    renameSync(`${file}.new`, file);
  });
