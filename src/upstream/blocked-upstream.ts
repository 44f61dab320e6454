import { UpstreamFailure, type Upstream } from './port.ts';

/** A backend that must not be called, because its key belongs to another server. It never opens a connection. */
export function makeBlocked(name: string, problem: string): Upstream {
  const refuse = (): Promise<never> => Promise.reject(new UpstreamFailure('unauthorized', problem));
  return { name, chat: refuse, images: refuse, embed: refuse, check: refuse };
}
