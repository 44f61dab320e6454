import type { Brief } from './brief.ts';
import type { Canvas } from './canvas.ts';
import type { Noise } from './noise.ts';
import type { RandomNumber } from './random.ts';

/** What a scene paints with. */
export interface PaintContext {
  readonly canvas: Canvas;
  readonly brief: Brief;
  readonly random: RandomNumber;
  readonly noise: Noise;
}
