import type { Brief } from './brief.ts';
import type { Canvas } from './canvas.ts';
import type { Noise } from './noise.ts';
import type { Random } from './random.ts';

/** What a scene paints with. */
export interface Easel {
  readonly canvas: Canvas;
  readonly brief: Brief;
  readonly random: Random;
  readonly noise: Noise;
}
