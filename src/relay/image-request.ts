import type { Model } from '../catalog/catalog.ts';
import {
  FREE_FIELDS,
  LISTED_FIELDS,
  sizesText,
  takesSize,
  type ImageAbilities,
  type NamedSize,
} from '../catalog/image-abilities.ts';
import { Fault } from '../std/fault.ts';
import { CONVERTED_FORMATS } from '../upstream/port.ts';
import type { AskedImages } from './call.ts';

/** A request that the model can serve, as its backend gets it. */
export interface FittingRequest {
  readonly size: string;
  /** Other names of the size, if the request used them. */
  readonly shape: NamedSize | undefined;
  readonly request: AskedImages;
  /** The format that is made from what the model makes. */
  readonly convertTo: string | undefined;
}

/** Throws a fault that says what the model has, if the request asks for something else. */
export function fitToModel(asked: AskedImages, model: Model): FittingRequest {
  const { aspect_ratio, resolution, stream: _, partial_images: __, ...request } = asked;
  const shape =
    aspect_ratio === undefined && resolution === undefined
      ? undefined
      : chosenShape(asked, model.abilities?.shapes ?? []);
  const size = shape?.size ?? wantedSize(asked, model);
  const { abilities } = model;
  // Without declared abilities the backend decides.
  const left = abilities ? checkAbilities(asked, abilities) : [];
  return {
    size,
    shape,
    request: left.length === 0 ? request : without(request, left),
    convertTo: left.includes('output_format') ? asked.output_format : undefined,
  };
}

function wantedSize({ size: wanted }: AskedImages, model: Model): string {
  const size = wanted === undefined || wanted === 'auto' ? model.sizes[0] : wanted;
  if (size !== undefined && takesSize(model, size)) return size;
  throw refused('size', `size must be ${sizesText(model)}.`);
}

function chosenShape(
  { size, aspect_ratio, resolution }: AskedImages,
  shapes: readonly NamedSize[],
): NamedSize {
  const given = aspect_ratio === undefined ? 'resolution' : 'aspect_ratio';
  if (size !== undefined && size !== 'auto')
    throw refused('size', `size and ${given} both say how large the image is. Use one of them.`);
  const inResolution =
    resolution === undefined ? shapes : shapes.filter((shape) => shape.resolution === resolution);
  if (resolution !== undefined && inResolution.length === 0) throw noSuchShape('resolution', shapes);
  const found =
    aspect_ratio === undefined
      ? inResolution
      : inResolution.filter((one) => one.aspectRatio === aspect_ratio);
  const [first] = found;
  if (!first) throw noSuchShape('aspect_ratio', inResolution);
  return first;
}

function noSuchShape(field: 'aspect_ratio' | 'resolution', shapes: readonly NamedSize[]): Fault {
  const name = field === 'resolution' ? 'resolution' : 'aspectRatio';
  const known = [...new Set(shapes.flatMap((shape) => shape[name] ?? []))];
  if (known.length === 0) return refused(field, `${field} is not supported by this model. Use size instead.`);
  return refused(field, `${field} must be one of ${known.join(', ')}.`);
}

/** The fields that the backend does not get: they say no more than their absence, or are handled here afterwards. */
function checkAbilities(request: AskedImages, abilities: ImageAbilities): string[] {
  const left: string[] = [];
  for (const field of LISTED_FIELDS) {
    const value = request[field];
    if (value === undefined || abilities.values[field]?.includes(value)) continue;
    const isConverted = field === 'output_format' && CONVERTED_FORMATS.has(value);
    if (value !== 'auto' && !isConverted) throw notTaken(field, abilities);
    left.push(field);
  }
  for (const field of FREE_FIELDS)
    if (request[field] !== undefined && !abilities.takes.has(field)) throw notTaken(field, abilities);
  const { maxImages, referenceImages, mask } = abilities;
  if ((request.n ?? 1) > maxImages) throw refused('n', `n must be at most ${maxImages} for this model.`);
  const references = request.image?.length ?? 0;
  if (references > referenceImages) {
    const message =
      referenceImages === 0
        ? 'This model makes images from words only; it takes no images.'
        : `This model takes at most ${referenceImages} images.`;
    throw refused('image', message);
  }
  if (request.mask && !mask) throw notTaken('mask', abilities);
  if (request.background === 'transparent' && request.output_format === 'jpeg')
    throw refused('background', 'background must not be transparent in a JPEG. Use png or webp.');
  return left;
}

function notTaken(field: string, abilities: ImageAbilities): Fault {
  const { values, takes, mask, partialImages, shapes } = abilities;
  const known = Object.entries(values).find(([listed]) => listed === field)?.[1];
  if (known) return refused(field, `${field} must be one of ${known.join(', ')}.`);
  const taken = [
    'n',
    'size',
    ...(shapes.some(({ aspectRatio }) => aspectRatio !== undefined) ? ['aspect_ratio'] : []),
    ...(shapes.some(({ resolution }) => resolution !== undefined) ? ['resolution'] : []),
    ...Object.keys(values),
    ...takes,
    ...(mask ? ['mask'] : []),
    ...(partialImages > 0 ? ['partial_images'] : []),
  ];
  return refused(field, `${field} is not supported by this model, which takes ${taken.join(', ')}.`);
}

function without(request: AskedImages, fields: readonly string[]): AskedImages {
  return { ...request, ...Object.fromEntries(fields.map((field) => [field, undefined])) };
}

function refused(param: string, message: string): Fault {
  return new Fault('invalid_field', message, { param });
}
