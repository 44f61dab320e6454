import type { BenchEnvironment } from '../harness/environment.ts';
import type { Contender } from './contender.ts';

/** The backend itself, without anything in front of it. */
export function directContender(name: string, { backend, backendPid }: BenchEnvironment): Contender {
  return {
    name,
    version: '',
    pids: [backendPid],
    databasePids: [],
    urls: [`${backend}/chat/completions`],
    headers: [{}],
    stop: async () => undefined,
  };
}
