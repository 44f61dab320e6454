import { makePalette, type ColourWish, type Daytime, type Palette } from './palette.ts';
import { hashText, makeRandom, pick, type RandomNumber, type Noise } from './random.ts';
import {
  COLOUR_WORDS,
  DAYTIME_WORDS,
  DETAIL_WORDS,
  SCENE_WORDS,
  type ColourWord,
  type Detail,
  type Scene,
} from './words.ts';
import type { Canvas } from './canvas.ts';

/** What will be painted: read from the prompt's words; the seed decides what they leave open. */
export interface Brief {
  readonly seed: number;
  readonly scene: Scene;
  readonly daytime: Daytime;
  readonly details: ReadonlySet<Detail>;
  readonly palette: Palette;
  /** Colour words found in the prompt, for the description. */
  readonly colours: readonly string[];
}

export function readBrief(order: Omit<PaintOrder, 'width' | 'height'>): Brief {
  const avoided = avoidedThings(order.avoid ?? '');
  const words = [...wordsOf(order.prompt), ...wordsOf(order.style ?? '')].filter(
    (word) => !avoided.words.has(word),
  );
  const seed = hashText(seedText(order));
  const random = makeRandom(seed);
  const scene = sceneOf(words, random, avoided.scenes);
  const details = new Set(
    words.flatMap((word) => DETAIL_WORDS.get(word) ?? []).filter((detail) => !avoided.details.has(detail)),
  );
  const daytime = words
    .map((word) => DAYTIME_WORDS.get(word))
    .find((found) => found !== undefined && !avoided.daytimes.has(found));
  const usual = USUAL_DAYTIMES[scene].filter((each) => !avoided.daytimes.has(each));
  const [first = 'day', ...others] = usual;
  const chosen = daytime ?? pick(random, [first, ...others]);
  // Outdoors "golden" is a time of day; elsewhere it is a colour.
  const outdoors = LIT_SCENES.has(scene);
  const colours = words.filter((word) => COLOUR_WORDS.has(word) && !(outdoors && word === 'golden'));
  return {
    seed,
    scene,
    daytime: chosen,
    details,
    palette: makePalette(chosen, wishOf(colours), random),
    colours,
  };
}

/** Without a seed the words alone decide, as they always did. */
function seedText({ index, prompt, seed }: Omit<PaintOrder, 'width' | 'height'>): string {
  const words = `${index}:${prompt.trim().toLowerCase()}`;
  return seed === undefined ? words : `${seed}:${words}`;
}

/** What the words to avoid stand for: a lake is not painted under another name either. */
function avoidedThings(text: string) {
  const words = new Set(wordsOf(text));
  const meant = <T>(table: ReadonlyMap<string, T>): ReadonlySet<T> =>
    new Set([...words].flatMap((word) => table.get(word) ?? []));
  return {
    words,
    scenes: meant(SCENE_WORDS),
    details: meant(DETAIL_WORDS),
    daytimes: meant(DAYTIME_WORDS),
  };
}

/** One sentence that describes the image and what it is not. */
export function describe(brief: Brief, { shown, kept }: { shown?: unknown; kept?: unknown } = {}): string {
  const colours = [...new Set(brief.colours)]
    .slice(0, 3)
    .map((word) => `“${word}”`)
    .join(', ');
  const details = [...brief.details].flatMap((detail) => DETAIL_TEXTS[detail] ?? []);
  const light = LIT_SCENES.has(brief.scene) ? ` ${DAYTIME_TEXTS[brief.daytime]}` : '';
  const inColours = colours === '' ? '' : `, coloured by ${colours}`;
  const withDetails = details.length === 0 ? '' : `, with ${details.slice(0, 4).join(', ')}`;
  const brush = brief.details.has('brush') ? ', in visible brush strokes' : '';
  const over = kept ? ', in the masked part of the given picture' : '';
  const given = shown ? ', showing what was given' : '';
  return `${SCENE_TEXTS[brief.scene]}${light}${inColours}${withDetails}${brush}${over}${given}. Painted by House Paint from noise and geometry; it follows the prompt's scenery and colour words.`;
}

/** Only the first words count: a prompt of 32,000 characters has named its subject long before its end. */
const MAX_WORDS = 400;

function wordsOf(prompt: string): string[] {
  const plain = prompt.toLowerCase().match(/[\p{L}]+/gu) ?? [];
  return plain.slice(0, MAX_WORDS).map(simplest);
}

/** The form that the tables know: as written, otherwise without a plural ending. */
function simplest(word: string): string {
  const forms = [word, word.replace(/s$/, ''), word.replace(/es$/, ''), word.replace(/ies$/, 'y')];
  return forms.find(isKnown) ?? word;
}

function isKnown(form: string): boolean {
  return SCENE_WORDS.has(form) || DAYTIME_WORDS.has(form) || DETAIL_WORDS.has(form) || COLOUR_WORDS.has(form);
}

function sceneOf(words: readonly string[], random: RandomNumber, avoided: ReadonlySet<Scene>): Scene {
  const votes = new Map<Scene, number>();
  for (const [place, word] of words.entries()) {
    const scene = SCENE_WORDS.get(word);
    // Earlier words weigh a little more: the subject of a prompt tends to come first.
    if (scene && !avoided.has(scene)) votes.set(scene, (votes.get(scene) ?? 0) + 1 + 1 / (place + 2));
  }
  const [best] = [...votes].sort((a, b) => b[1] - a[1]);
  if (best) return best[0];
  const suggested = skyScene(words);
  if (suggested && !avoided.has(suggested)) return suggested;
  const [first = 'shapes', ...others] = OPEN_SCENES.filter((scene) => !avoided.has(scene));
  return pick(random, [first, ...others]);
}

/** "A quiet evening by the lake" names no scene, but its light and water suggest one. */
function skyScene(words: readonly string[]): Scene | undefined {
  if (words.some((word) => DETAIL_WORDS.get(word) === 'boat')) return 'sea';
  if (words.some((word) => DETAIL_WORDS.get(word) === 'blossoms')) return 'flowers';
  const outdoors = words.some(
    (word) => DAYTIME_WORDS.has(word) || (DETAIL_WORDS.has(word) && DETAIL_WORDS.get(word) !== 'brush'),
  );
  return outdoors ? 'mountains' : undefined;
}

function wishOf(colours: readonly string[]): ColourWish {
  const found = colours.flatMap((word): ColourWord[] => {
    const wish = COLOUR_WORDS.get(word);
    return wish ? [wish] : [];
  });
  return {
    hues: [...new Set(found.flatMap((wish) => wish.hue ?? []))].slice(0, 3),
    chroma: found.reduce((product, wish) => product * (wish.chroma ?? 1), 1),
    lightness: Math.max(
      -0.1,
      Math.min(
        0.1,
        found.reduce((sum, wish) => sum + (wish.lightness ?? 0), 0),
      ),
    ),
  };
}

const OPEN_SCENES: readonly [Scene, ...Scene[]] = [
  'ribbons',
  'mountains',
  'silk',
  'sea',
  'space',
  'shapes',
  'forest',
];

const USUAL_DAYTIMES: Readonly<Record<Scene, readonly [Daytime, ...Daytime[]]>> = {
  mountains: ['dawn', 'golden', 'dusk', 'day', 'mist'],
  dunes: ['golden', 'dusk', 'dawn'],
  forest: ['mist', 'dawn', 'golden', 'dusk'],
  sea: ['golden', 'dusk', 'dawn', 'day'],
  city: ['dusk', 'night', 'dawn'],
  flowers: ['dawn', 'golden', 'day'],
  space: ['night'],
  ribbons: ['day', 'night'],
  silk: ['dusk', 'night', 'dawn'],
  shapes: ['day'],
};

const LIT_SCENES: ReadonlySet<Scene> = new Set<Scene>(['mountains', 'dunes', 'forest', 'sea', 'city']);

const SCENE_TEXTS: Readonly<Record<Scene, string>> = {
  mountains: 'Layered mountains',
  dunes: 'Desert dunes',
  forest: 'A deep conifer forest',
  sea: 'An open sea',
  city: 'A city skyline over water',
  flowers: 'Blossoms close up',
  space: 'A planet before a nebula',
  ribbons: 'Ribbons following a flow field',
  silk: 'Folded, flowing silk',
  shapes: 'A poster of plain shapes',
};

const DAYTIME_TEXTS: Readonly<Record<Daytime, string>> = {
  dawn: 'at dawn',
  day: 'in daylight',
  golden: 'in golden light',
  dusk: 'at dusk',
  night: 'at night',
  mist: 'in soft mist',
  storm: 'under a storm',
};

const DETAIL_TEXTS: Readonly<Partial<Record<Detail, string>>> = {
  water: 'water',
  fog: 'fog',
  snow: 'snow',
  stars: 'stars',
  moon: 'the moon',
  aurora: 'an aurora',
  birds: 'birds',
  boat: 'a sail',
  trees: 'trees',
  blossoms: 'blossoms',
  rings: 'rings',
  clouds: 'clouds',
};

export interface PaintOrder {
  readonly prompt: string;
  /** A style in one of the words that prompts use; it does not change what is painted. */
  readonly style?: string | undefined;
  /** Another seed gives another picture of the same words. */
  readonly seed?: number | undefined;
  /** Words that the picture does not show, even if the prompt names them. */
  readonly avoid?: string | undefined;
  /** Paints with this many times less detail on each side; absent: in full. */
  readonly coarseness?: number | undefined;
  /** The index of this image among the n of a request. */
  readonly index: number;
  readonly width: number;
  readonly height: number;
  /** How much detail is painted; absent: all of it. */
  readonly quality?: PaintQuality | undefined;
  /** Files of pictures that the painting shows. */
  readonly pictures?: readonly Uint8Array[] | undefined;
  /** A file that is transparent where the first picture is painted over. */
  readonly mask?: Uint8Array | undefined;
  readonly background?: Background | undefined;
  /** The format of the file; absent: PNG. */
  readonly format?: PaintFormat | undefined;
  /** The quality of a JPEG or WebP, 0 to 100. */
  readonly compression?: number | undefined;
}

export type PaintQuality = 'low' | 'medium' | 'high';
type PaintFormat = 'png' | 'jpeg' | 'webp';

/** Behind what is painted. */
export type Background = 'transparent' | 'opaque' | 'auto';

/** What a scene paints with. */
export interface PaintContext {
  readonly canvas: Canvas;
  readonly brief: Brief;
  readonly random: RandomNumber;
  readonly noise: Noise;
}
