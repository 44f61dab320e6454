import { costPriceFor, type Model, type ModelPrice, type PriceSnapshot } from '../catalog/catalog.ts';
import { edgesOf } from '../catalog/image-abilities.ts';
import type { ImageCeiling, Price, Usage } from '../ledger/price.ts';
import { addNano, type NanoUsd } from '../std/money.ts';
import type { CostTerms } from './attempt-costs.ts';
import type { FittingRequest } from './image-request.ts';
import { countImageOutput, type ImageInputCount } from './image-tokens.ts';
import { readImageUsage, reportedCost, type MeteredUsage } from './stream/reported-usage.ts';

/**
 * What a request for images is charged by, and what it may use and cost: as the catalog said when it was admitted. Written
 * with the request, so that whichever process ends it comes to the same sums.
 */
export interface ImageTerms extends CostTerms {
  readonly route: { readonly model: TermsModel };
  readonly ceiling: ImageCeiling;
  readonly fitting: Pick<FittingRequest, 'size' | 'shape' | 'convertTo'>;
  readonly count: number;
  /** Pictures that the request starts from. */
  readonly inputImages: number;
  /** The most partial images that a stream shows of each image. */
  readonly partialImages: number;
  /** Our own count of the input, which is charged where the backend reports none; only for prices by the token. */
  readonly countInputForCharge?: (() => Promise<ImageInputCount>) | undefined;
}

type TermsModel = Pick<Model, 'id' | 'maxOutput' | 'sizes' | 'form' | 'upstreamModels' | 'costs'>;

/** The terms as JSON. */
export interface KeptImageTerms extends Omit<
  ImageTerms,
  'route' | 'uncounted' | 'countInputForCharge' | 'price'
> {
  readonly price: Price;
  readonly model: Pick<TermsModel, 'id' | 'maxOutput' | 'form'>;
  readonly upstreamModels: readonly (readonly [string, string])[];
  /** What each backend takes for the image that is meant. */
  readonly costs: readonly (readonly [string, PriceSnapshot])[];
  readonly input?: ImageInputCount | undefined;
}

/** `input`: our own count, where it is known already. */
export function keptTerms(terms: ImageTerms, input: ImageInputCount | undefined): KeptImageTerms {
  const { route, price, ceiling, image, fitting, count, inputImages, partialImages } = terms;
  const { id, maxOutput, form, upstreamModels, costs } = route.model;
  const { size, shape, convertTo } = fitting;
  return {
    price,
    ceiling,
    image,
    fitting: { size, shape, convertTo },
    count,
    inputImages,
    partialImages,
    model: { id, maxOutput, form },
    upstreamModels: [...upstreamModels],
    costs: [...costs.keys()].flatMap((upstream) => {
      const cost = costPriceFor(route.model, upstream, image);
      return cost ? [[upstream, cost] as const] : [];
    }),
    input,
  };
}

export function termsFrom(kept: KeptImageTerms): ImageTerms {
  const { model, upstreamModels, costs, input, ...terms } = kept;
  return {
    ...terms,
    route: {
      model: {
        ...model,
        sizes: [terms.fitting.size],
        upstreamModels: new Map(upstreamModels),
        costs: new Map(costs.map(([upstream, cost]) => [upstream, asModelPrice(cost)])),
      },
    },
    countInputForCharge: input && (() => Promise.resolve(input)),
  };
}

function asModelPrice(cost: PriceSnapshot): ModelPrice {
  if (cost.kind === 'tokens') return cost;
  const { kind, image, extra } = cost;
  return { kind, bySize: new Map(), otherwise: image, extra };
}

/** The most that some of the images use. The input is the same for one as for all. */
export function ceilingOf({ ceiling, count }: ImageTerms, images: number): ImageCeiling {
  const share = (all: number | undefined): number | undefined =>
    all === undefined ? undefined : Math.ceil((all * images) / count);
  const { pixels, partialImages, output } = ceiling;
  return {
    ...ceiling,
    images,
    pixels: share(pixels),
    partialImages: share(partialImages),
    output: share(output),
  };
}

export interface MadeImages {
  readonly images: number;
  readonly partialImages: number;
  /** The backend's own reports: one for all images, or one for each. */
  readonly usages: readonly unknown[];
  readonly quality?: string | undefined;
  /** The input by our own count, for a backend that reports none. */
  readonly input?: ImageInputCount | undefined;
}

/**
 * The tokens are the backend's, or by our own count where it reported none: the input is owed as soon as it has accepted
 * the request. What was made is what arrived.
 */
export function imagesMeasured(terms: ImageTerms, made: MadeImages): MeteredUsage {
  const { price, fitting, inputImages } = terms;
  const { images, partialImages } = made;
  const reports = made.usages.filter((usage) => usage !== undefined);
  const cost = reports.map(reportedCost).reduce(sumOfCosts, undefined);
  if (price.kind === 'tokens') return { ...tokensMeasured(terms, made, reports), cost };
  const isByPixel = price.extra?.megapixel !== undefined;
  const isKnown = price.extra?.qualities && made.quality !== undefined && /^[\w.-]{1,32}$/.test(made.quality);
  const usage = readImageUsage(undefined, {
    images,
    pixels: isByPixel ? images * pixelsOf(fitting.size) : undefined,
    quality: isKnown ? made.quality : undefined,
    inputImages: images + partialImages > 0 ? inputImages : undefined,
    partialImages,
  });
  return { usage, source: 'upstream', cost };
}

/** A report without output, although there are images, says nothing about it: then that is our own count. */
function tokensMeasured(
  { fitting, route, image }: ImageTerms,
  { images, partialImages, quality, input = { text: 0, pictures: 0 } }: MadeImages,
  reports: readonly unknown[],
): Pick<MeteredUsage, 'usage' | 'source'> {
  const reported = reports.length > 0 ? readImageUsage(sumOfReports(reports), { images }) : undefined;
  const made = { images, partialImages, size: fitting.size, quality: quality ?? image?.quality };
  const output_tokens = countImageOutput({ ...made, maxOutput: route.model.maxOutput });
  if (reported && (reported.output > 0 || output_tokens === 0))
    return { usage: reported, source: 'upstream' };
  const usage = {
    input_tokens: reported?.input ?? input.text + input.pictures,
    input_tokens_details: { image_tokens: reported?.extra?.imageInput ?? input.pictures },
    output_tokens,
  };
  return { usage: readImageUsage(usage, { images }), source: reported ? 'mixed' : 'counted' };
}

function sumOfCosts(sum: NanoUsd | undefined, cost: NanoUsd | undefined): NanoUsd | undefined {
  return sum === undefined || cost === undefined ? (sum ?? cost) : addNano(sum, cost);
}

/** A stream reports the tokens of each image with it. */
function sumOfReports(reports: readonly unknown[]): unknown {
  if (reports.length < 2) return reports[0];
  const usages = reports.map((report) => readImageUsage(report, { images: 0 }));
  const sum = (count: (usage: Usage) => number | undefined): number =>
    usages.reduce((total, usage) => total + (count(usage) ?? 0), 0);
  const output_tokens = sum(({ output }) => output);
  return {
    input_tokens: sum(({ input }) => input),
    output_tokens,
    input_tokens_details: { image_tokens: sum(({ extra }) => extra?.imageInput) },
    output_tokens_details: { text_tokens: output_tokens - sum(({ extra }) => extra?.imageOutput) },
  };
}

export function pixelsOf(size: string): number {
  const [width, height] = edgesOf(size);
  return width * height;
}
