import type { UpstreamConfig } from '../catalog/catalog.ts';
import type { Clock } from '../std/clock.ts';
import { makeProvider } from './ai-sdk/provider-upstream.ts';
import { finishingImages } from './finished-images.ts';
import { makeGguf } from './gguf/gguf.ts';
import { makeImageApi, withImageApi } from './image-apis/image-api-upstream.ts';
import { makeOpenAi } from './openai.ts';
import { UpstreamFailure, type LearnedField, type Upstream } from './port.ts';

type MakeUpstream = (config: UpstreamConfig, parts: { readonly clock: Clock }) => Upstream;

/** Backends of kinds that are made elsewhere and passed in by the composition root. */
export type BuiltInKinds = Readonly<Record<string, MakeUpstream>>;

/** Makes a backend from its configuration. The catalog has checked that the kind exists. */
export function makeUpstream(
  config: UpstreamConfig,
  clock: Clock,
  builtIn: BuiltInKinds,
  onLearned?: (learned: LearnedField) => void,
): Upstream {
  if (config.problem !== undefined) return makeBlocked(config.name, config.problem);
  if (config.kind === 'gguf') return makeGguf(config, { clock });
  if (config.kind === 'openai') return finishingImages(makeOpenAi(config, onLearned));
  const upstream =
    builtIn[config.kind]?.(config, { clock }) ?? makeProvider(config, { clock }) ?? makeImageApi(config);
  if (upstream) return finishingImages(withImageApi(upstream, config));
  throw new Error(`there is no kind of upstream '${config.kind}'`);
}

/** A backend that must not be called, because its key belongs to another server. It never opens a connection. */
function makeBlocked(name: string, problem: string): Upstream {
  const refuse = (): Promise<never> => Promise.reject(new UpstreamFailure('unauthorized', problem));
  return { name, chat: refuse, images: refuse, embed: refuse, moderate: refuse, check: refuse };
}
