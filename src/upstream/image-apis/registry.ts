import { bfl } from './bfl.ts';
import { fal } from './fal.ts';
import type { ImageApi } from './image-api.ts';
import { imagen } from './imagen.ts';
import { replicate } from './replicate.ts';
import { stability } from './stability.ts';

/** Every API of images that is neither OpenAI's nor reached through an AI SDK package. A new one is a file and a word here. */
export const IMAGE_APIS: readonly ImageApi[] = [bfl, fal, imagen, replicate, stability];
