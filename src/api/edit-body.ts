import { createHash } from 'node:crypto';
import type { JsonBody } from '../http/request-body.ts';
import type { IncomingRequest } from '../http/router.ts';
import type { KeptImage } from '../activity/image-store.ts';
import type { AskedImages, InputPicture } from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import type { RequestMemory } from '../std/held-memory.ts';
import type { UploadedImage } from '../wire/openai/images.ts';
import type { ImageLinks } from './image-links.ts';

export const MAX_PICTURES = 16;

/** The body of an edit, from a form or from JSON. */
export interface EditBody extends Pick<JsonBody, 'size' | 'value' | 'text'> {
  readonly pictures: readonly Picture[];
  readonly mask: Picture | undefined;
}

/** A picture as it was sent, or its address in the gallery. */
type Picture = UploadedImage | { readonly address: string; readonly param: 'image' | 'mask' };

export async function readEdit({
  request,
  body,
}: Pick<IncomingRequest, 'request' | 'body'>): Promise<EditBody> {
  const isJson = /^application\/json\b/i.test(request.headers.get('content-type') ?? '');
  const read = isJson ? await readEditJson(body) : await readEditForm(body);
  if (read.pictures.length === 0) throw new Fault('missing_field', 'image is required.', { param: 'image' });
  return read;
}

async function readEditJson(body: IncomingRequest['body']): Promise<EditBody> {
  const { value, text, size } = await body.json();
  return { ...takePictures(value), text, size };
}

/**
 * The pictures of a JSON body, and its other fields. `image` is one or several data URLs or addresses; `images` and `mask`
 * may also be as OpenAI has them: `[{ "image_url": … }]` and `{ "image_url": … }`.
 */
export function takePictures(body: Record<string, unknown>): Pick<EditBody, 'pictures' | 'mask' | 'value'> {
  const { image, images, mask, ...value } = body;
  const given = [image, images].flatMap((one) => (one === undefined || one === null ? [] : one));
  if (given.length > MAX_PICTURES) throw tooMany();
  const [masked] = mask === undefined || mask === null ? [] : [pictureOf(mask, 'mask')];
  return { pictures: given.map((one) => pictureOf(one, 'image')), mask: masked, value };
}

const DATA_URL = /^data:(image\/[\w.+-]{1,64});base64,/i;

function pictureOf(given: unknown, param: 'image' | 'mask'): Picture {
  const text =
    typeof given === 'object' && given !== null ? (given as { image_url?: unknown }).image_url : given;
  if (typeof text !== 'string' || text === '')
    throw new Fault(
      'invalid_field',
      `${param} must be a data URL or the address of an image of your gallery.`,
      {
        param,
      },
    );
  if (!/^data:/i.test(text)) return { address: text, param };
  const [start, mime] = DATA_URL.exec(text) ?? [];
  const bytes =
    start === undefined ? undefined : new Uint8Array(Buffer.from(text.slice(start.length), 'base64'));
  if (mime === undefined || bytes === undefined || bytes.length === 0)
    throw new Fault('invalid_field', `${param} must be data:image/…;base64,… with an image in it.`, {
      param,
    });
  return { bytes, mime: mime.toLowerCase() };
}

function tooMany(): Fault {
  return new Fault('invalid_field', `At most ${MAX_PICTURES} images.`, { param: 'image' });
}

async function readEditForm(body: IncomingRequest['body']): Promise<EditBody> {
  const { fields, size } = await body.form();
  const pictures = await Promise.all(
    [...fields.getAll('image'), ...fields.getAll('image[]')].flatMap(uploads),
  );
  if (pictures.length > MAX_PICTURES) throw tooMany();
  const [mask] = await Promise.all(fields.getAll('mask').flatMap(uploads));
  const value = textFields(fields);
  return {
    value,
    size: { bytes: size, characters: size },
    pictures,
    mask,
    text: formText(value, pictures, mask),
  };
}

function uploads(value: FormDataEntryValue): Promise<UploadedImage>[] {
  if (typeof value === 'string') return [];
  return [value.arrayBuffer().then((buffer) => ({ bytes: new Uint8Array(buffer), mime: value.type }))];
}

const NUMBERS: ReadonlySet<string> = new Set(['n', 'output_compression', 'seed', 'partial_images']);
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);
const FLAG_FIELDS: ReadonlySet<string> = new Set(['stream', 'strip_metadata']);

/** Everything in a form is text. */
function textFields(form: FormData): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [key, value] of form) {
    if (typeof value !== 'string' || key.startsWith('image') || key === 'mask') continue;
    if (FLAG_FIELDS.has(key)) fields[key] = FLAGS.get(value) ?? value;
    else fields[key] = NUMBERS.has(key) ? Number(value) : value;
  }
  return fields;
}

/** The form as text without its boundary: a client that retries may choose another boundary for the same request. */
function formText(
  value: object,
  pictures: readonly UploadedImage[],
  mask: UploadedImage | undefined,
): string {
  const hashes = [...pictures, ...(mask ? [mask] : [])].map(({ bytes }) =>
    createHash('sha256').update(bytes).digest('hex'),
  );
  return JSON.stringify([value, hashes, mask !== undefined]);
}

/** The account whose gallery the addresses point into, and the request that loads pictures from there. */
interface PictureOwner {
  readonly links: Pick<ImageLinks, 'idIn' | 'findAllOwn'>;
  readonly origin: string;
  /** Looked up once. */
  readonly accountId: () => Promise<AccountId>;
  readonly memory: Pick<RequestMemory, 'hold'>;
}

/**
 * The pictures as the relay takes them. Those of the gallery are only looked up: they are loaded when the request has
 * passed every check that costs less. Nothing is fetched from elsewhere.
 */
export async function findPictures(
  { pictures, mask }: Pick<EditBody, 'pictures' | 'mask'>,
  owner: PictureOwner,
): Promise<Pick<AskedImages, 'image' | 'mask'>> {
  const named = mask ? [...pictures, mask] : pictures;
  const gallery = new NamedImages(await imagesNamed(named, owner), owner);
  const found = (picture: Picture): InputPicture =>
    'bytes' in picture
      ? { mime: picture.mime, load: () => Promise.resolve(picture.bytes) }
      : gallery.picture(picture);
  return {
    ...(pictures.length > 0 && { image: pictures.map(found) }),
    ...(mask && { mask: found(mask) }),
  };
}

type NamedPicture = Extract<Picture, { address: string }>;

async function imagesNamed(
  pictures: readonly Picture[],
  owner: PictureOwner,
): Promise<ReadonlyMap<string, KeptImage>> {
  const ids = pictures.flatMap((picture) => ('bytes' in picture ? [] : idOf(picture, owner)));
  if (ids.length === 0) return new Map();
  return await owner.links.findAllOwn(await owner.accountId(), [...new Set(ids)]);
}

/** What fits into the memory of an account beside a body. */
const MAX_NAMED_BYTES = 40 * 1_048_576;

/** The images of the gallery that one request names. Each is loaded once, however often it is named. */
class NamedImages {
  readonly #images: ReadonlyMap<string, KeptImage>;
  readonly #owner: PictureOwner;
  readonly #loading = new Map<KeptImage, Promise<Uint8Array<ArrayBuffer>>>();
  #room: Promise<void> | undefined;
  /** A backend gets an image as often as it is named. */
  #bytes = 0;

  constructor(images: ReadonlyMap<string, KeptImage>, owner: PictureOwner) {
    this.#images = images;
    this.#owner = owner;
  }

  picture(named: NamedPicture): InputPicture {
    const image = this.#images.get(idOf(named, this.#owner));
    if (!image) throw notThere(named);
    this.#bytes += image.size;
    if (this.#bytes > MAX_NAMED_BYTES) throw tooLarge(named);
    return { mime: image.mime, load: () => this.#load(image, named) };
  }

  #load(image: KeptImage, named: NamedPicture): Promise<Uint8Array<ArrayBuffer>> {
    const loading = this.#loading.get(image) ?? this.#loadOnce(image, named);
    this.#loading.set(image, loading);
    return loading;
  }

  async #loadOnce(image: KeptImage, named: NamedPicture): Promise<Uint8Array<ArrayBuffer>> {
    // For all of them before the first: a part of the pictures is of no use.
    await (this.#room ??= this.#owner.memory.hold(this.#bytes));
    const bytes = await image.bytes();
    if (!bytes) throw notThere(named);
    return bytes;
  }
}

function idOf({ address, param }: NamedPicture, { links, origin }: PictureOwner): string {
  const id = links.idIn(address, origin);
  if (id !== undefined) return id;
  throw new Fault(
    'invalid_field',
    `${param} must be a data URL or the address of an image of your gallery; nothing is fetched from elsewhere.`,
    { param },
  );
}

function notThere({ param }: NamedPicture): Fault {
  return new Fault('invalid_field', 'There is no such image in your gallery.', { param });
}

function tooLarge({ param }: NamedPicture): Fault {
  const most = MAX_NAMED_BYTES / 1_048_576;
  return new Fault('invalid_field', `Images of your gallery may have at most ${most} MB in one request.`, {
    param,
  });
}
