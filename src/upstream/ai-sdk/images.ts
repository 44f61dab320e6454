import type {
  ImageModelV4,
  ImageModelV4CallOptions,
  ImageModelV4File,
  ImageModelV4Result,
} from '@ai-sdk/provider';
import type { UploadedImage } from '../../wire/openai/images.ts';
import { sniffMime, joinParts, noImage, split, type PartAnswer } from '../image-response.ts';
import type { GeneratedImage, ImageAnswer, UpstreamImageCall } from '../port.ts';
import { UpstreamFailure } from '../port.ts';
import { rejected } from '../response.ts';
import { isObject } from './json.ts';
import type { ImageSupport, Provider } from './provider.ts';

/**
 * The images of one request, in as many calls as the backend needs. If some calls fail, the images that arrived are the
 * answer and are charged; no image at all is a failure. `asFailure` says what a package's own error means.
 */
export async function generateImages(
  model: ImageModelV4,
  call: UpstreamImageCall,
  { provider, asFailure }: ImageProvider,
): Promise<ImageAnswer> {
  const support = provider.images;
  if (!support) throw rejected('This backend does not make images.');
  if (call.request.mask && support.takesMask === false) throw rejected('This model takes no mask.', 'mask');
  const sizes = split(call.request.n ?? 1, await perCall(model));
  const generate = async (n: number): Promise<SdkPart> => {
    const options = optionsFor(call, provider.namespace, support, n);
    try {
      return partOf(await model.doGenerate(options));
    } catch (thrown) {
      throw asFailure(thrown);
    }
  };
  const { answers, images, lost } = await joinParts(sizes.map((n) => ({ images: n, answer: generate(n) })));
  return { images, lost, ...usageOf(answers) };
}

interface ImageProvider {
  readonly provider: Provider;
  readonly asFailure: (thrown: unknown) => unknown;
}

interface SdkPart extends PartAnswer {
  readonly usage: ImageModelV4Result['usage'];
}

function partOf(result: ImageModelV4Result): SdkPart {
  const images = imagesOf(result);
  if (images.length === 0) throw emptyAnswer(result);
  return { images, lost: result.images.length - images.length, usage: result.usage };
}

async function perCall(model: ImageModelV4): Promise<number> {
  const limit = model.maxImagesPerCall;
  const value = typeof limit === 'function' ? await limit({ modelId: model.modelId }) : limit;
  return Math.max(1, value ?? 1);
}

function optionsFor(
  call: UpstreamImageCall,
  namespace: string,
  support: ImageSupport,
  n: number,
): ImageModelV4CallOptions {
  const { size, aspectRatio } = support.shape(call);
  const { prompt, seed, image, mask } = call.request;
  return {
    prompt,
    n,
    size,
    aspectRatio,
    seed: typeof seed === 'number' ? seed : undefined,
    files: image?.map(fileOf),
    mask: mask && fileOf(mask),
    providerOptions: { [namespace]: support.options?.(call.request) ?? {} },
    abortSignal: call.signal,
  };
}

function fileOf({ bytes, mime }: UploadedImage): ImageModelV4File {
  return { type: 'file', mediaType: mime, data: bytes };
}

function imagesOf(result: ImageModelV4Result): GeneratedImage[] {
  return result.images.flatMap((image, index) => {
    const bytes = typeof image === 'string' ? Buffer.from(image, 'base64') : image;
    const mime = sniffMime(bytes);
    const revisedPrompt = revisedPromptOf(result, index);
    return mime === undefined ? [] : [{ bytes, mime, ...(revisedPrompt !== undefined && { revisedPrompt }) }];
  });
}

function revisedPromptOf(result: ImageModelV4Result, index: number): string | undefined {
  for (const metadata of Object.values(result.providerMetadata ?? {})) {
    const image = metadata.images[index];
    if (isObject(image) && typeof image.revisedPrompt === 'string') return image.revisedPrompt;
  }
  return undefined;
}

function usageOf(parts: readonly SdkPart[]): { usage?: unknown } {
  const usages = parts.flatMap(({ usage }) => (usage ? [usage] : []));
  if (usages.length === 0) return {};
  const total = (key: 'inputTokens' | 'outputTokens'): number =>
    usages.reduce((sum, usage) => sum + (usage[key] ?? 0), 0);
  const input_tokens = total('inputTokens');
  const output_tokens = total('outputTokens');
  return { usage: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens } };
}

/** No image and no error: the backend's content filter, if it says that a retry is pointless. */
function emptyAnswer({ images, isRetryable }: ImageModelV4Result): UpstreamFailure {
  if (images.length > 0) return noImage();
  if (isRetryable === false) return rejected('The backend refused this prompt.');
  return new UpstreamFailure('server', 'the backend returned no image');
}
