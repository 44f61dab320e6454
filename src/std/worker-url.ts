import { extname } from 'node:path';

/**
 * Where the program of a thread is, by its path as the sources of any folder write it. In a compiled binary every module
 * has the URL of the binary's root, and the bundler has put the threads below it with their names as sources; in the
 * sources and in the npm package this module is one folder deep, as they are.
 */
export function workerUrl(path: `../${string}.ts`): URL {
  const own = import.meta.url;
  if (Bun.isStandaloneExecutable) return new URL(path.replace('../', './'), own);
  return new URL(path.replace(/\.ts$/, extname(own)), own);
}
