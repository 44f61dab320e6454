import { connectionFailure, mayBeBilled, UpstreamFailure, type GeneratedImage } from './port.ts';

/** How many images each of the calls makes that a request for images is split into. */
export function split(total: number, most: number): number[] {
  return Array.from({ length: Math.ceil(total / most) }, (_, index) => Math.min(most, total - index * most));
}

/** What came of one part: at least one image, or it has failed. */
export interface PartAnswer {
  readonly images: readonly GeneratedImage[];
  /** The backend made them, and they cannot be had. */
  readonly lost: number;
}

interface RunningPart<Answer> {
  /** How many it was submitted for. */
  readonly images: number;
  readonly answer: Promise<Answer>;
}

interface JoinedParts<Answer> {
  readonly answers: readonly Answer[];
  readonly images: GeneratedImage[];
  /** Of the answers, and of the parts whose end is not known: the backend may bill them. */
  readonly lost: number;
}

/**
 * The answers of all parts once each has ended. No image at all is a failure: one after which the backend may send a bill,
 * if any part failed so.
 */
export async function joinParts<Answer extends PartAnswer>(
  parts: readonly RunningPart<Answer>[],
): Promise<JoinedParts<Answer>> {
  const settled = await Promise.allSettled(parts.map(({ answer }) => answer));
  const answers = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const images = answers.flatMap((answer) => answer.images);
  if (images.length > 0) {
    const lost = settled.map((one, index) =>
      one.status === 'fulfilled'
        ? one.value.lost
        : isPossiblyMade(one.reason)
          ? (parts[index]?.images ?? 0)
          : 0,
    );
    return { answers, images, lost: lost.reduce((sum, count) => sum + count, 0) };
  }
  const failed = settled.filter((one) => one.status === 'rejected');
  throw (failed.find(({ reason }) => isPossiblyMade(reason)) ?? failed[0])?.reason ?? noImage();
}

/** What is thrown without a failure's kind is an abort, or a connection that broke. */
function isPossiblyMade(thrown: unknown): boolean {
  return mayBeBilled(thrown instanceof UpstreamFailure ? thrown : connectionFailure(thrown));
}

export function noImage(): UpstreamFailure {
  return new UpstreamFailure('protocol', 'the answer holds no image');
}
