import { adjust, fromLch, hex, mix, toLch, type Rgb } from './colour.ts';
import { pick, type RandomNumber } from './random.ts';

export type Daytime = 'dawn' | 'day' | 'golden' | 'dusk' | 'night' | 'mist' | 'storm';

/** The colours one picture is made of. */
export interface Palette {
  /** From the zenith down to the horizon. */
  readonly sky: readonly [Rgb, Rgb, Rgb, Rgb];
  /** The sun, or the moon at night. */
  readonly sun: Rgb;
  readonly cloudLit: Rgb;
  readonly cloudShade: Rgb;
  /** Land at the horizon and land at the viewer's feet. */
  readonly far: Rgb;
  readonly near: Rgb;
  /** Strong colours for blossoms, ribbons and shapes. */
  readonly accents: readonly [Rgb, ...Rgb[]];
  readonly paper: Rgb;
  readonly ink: Rgb;
}

/** What the prompt's colour words ask for. */
export interface ColourWish {
  /** OKLCH hues in degrees, in the order of the words. */
  readonly hues: readonly number[];
  /** Multiplies chroma: below 1 for "pastel" or "grey", above for "vivid". */
  readonly chroma: number;
  /** Added to lightness: "dark" below, "pale" above zero. */
  readonly lightness: number;
}

export function makePalette(daytime: Daytime, wish: ColourWish, random: RandomNumber): Palette {
  const light = LIGHTS[daytime];
  const set = pick(random, ACCENT_SETS);
  const accents = wish.hues.length > 0 ? accentsOf(wish.hues, random) : set.map((code) => hex(code));
  const first = wish.hues[0];
  const second = wish.hues[1] ?? (first === undefined ? undefined : first + (random() < 0.5 ? 32 : -32));
  // One colour word must not drown the picture: the light keeps most of its own colour then.
  const share = wish.hues.length > 1 ? 1 : 0.55;
  const cool = (code: string, strength: number): Rgb => steer(hex(code), first, strength);
  const warm = (code: string, strength: number): Rgb => steer(hex(code), second, strength * share);
  const tune = (rgb: Rgb): Rgb => adjust(rgb, { chroma: wish.chroma, lightness: wish.lightness });
  const [leading = hex('#888888'), ...others] = accents.map(tune);
  return {
    sky: [
      tune(cool(light.sky[0], 0.85)),
      tune(cool(light.sky[1], 0.85)),
      tune(warm(light.sky[2], 0.75)),
      tune(warm(light.sky[3], 0.7)),
    ],
    sun: tune(warm(light.sun, 0.5)),
    cloudLit: tune(warm(light.cloudLit, 0.55)),
    cloudShade: tune(cool(light.cloudShade, 0.7)),
    far: tune(cool(light.far, 0.75)),
    near: tune(cool(light.near, 0.6)),
    accents: [leading, ...others],
    paper: tune(mix(hex('#f6f0e4'), leading, 0.03)),
    ink: tune(cool('#0d1220', 0.5)),
  };
}

/** Turns a colour towards a hue and keeps its place between dark and light, so the picture keeps its depth. */
function steer(rgb: Rgb, hue: number | undefined, strength: number): Rgb {
  if (hue === undefined) return rgb;
  const from = toLch(rgb);
  const wanted = fromLch({
    l: from.l,
    c: Math.max(from.c, 0.055 + 0.05 * Math.sin(Math.PI * from.l)),
    h: hue,
  });
  return mix(rgb, wanted, strength);
}

function accentsOf(hues: readonly number[], random: RandomNumber): Rgb[] {
  const steps = [0.42, 0.58, 0.7, 0.82];
  const own = hues.flatMap((hue) =>
    steps.map((l, index) =>
      fromLch({
        l: l + (0.9 - l) * yellowness(hue) * 0.5,
        c: 0.175 - 0.025 * Math.abs(index - 1.5),
        h: hue + (random() - 0.5) * 34,
      }),
    ),
  );
  // A little of the opposite colour brings out the others.
  const opposite = fromLch({ l: 0.74, c: 0.13, h: (hues[0] ?? 0) + 180 });
  return hues.length > 1 ? own : [...own, opposite];
}

/** Dark yellow reads as olive: the nearer a hue is to yellow, the lighter its shades must be. */
function yellowness(hue: number): number {
  return Math.max(0, 1 - Math.abs(hue - 96) / 34);
}

interface Light {
  readonly sky: readonly [string, string, string, string];
  readonly sun: string;
  readonly cloudLit: string;
  readonly cloudShade: string;
  readonly far: string;
  readonly near: string;
}

const LIGHTS: Readonly<Record<Daytime, Light>> = {
  dawn: {
    sky: ['#2a3866', '#7370ab', '#e9a6aa', '#ffdcb0'],
    sun: '#ffe9c4',
    cloudLit: '#ffd3c2',
    cloudShade: '#8780b2',
    far: '#b295b8',
    near: '#1b1f3a',
  },
  day: {
    sky: ['#1d5fae', '#4c94d6', '#9ccbec', '#dfeff2'],
    sun: '#fff8e6',
    cloudLit: '#ffffff',
    cloudShade: '#a9c0d6',
    far: '#8db1cc',
    near: '#12332b',
  },
  golden: {
    sky: ['#355a88', '#7fa3c0', '#f0cc98', '#ffb866'],
    sun: '#fff1c8',
    cloudLit: '#ffe4bb',
    cloudShade: '#a98a92',
    far: '#cb9d86',
    near: '#251d26',
  },
  dusk: {
    sky: ['#141839', '#47306f', '#c64f70', '#ffac68'],
    sun: '#ffd596',
    cloudLit: '#ff9c7c',
    cloudShade: '#543a74',
    far: '#8f547f',
    near: '#110e25',
  },
  night: {
    sky: ['#040817', '#0a1838', '#193763', '#3b6a90'],
    sun: '#eef4ff',
    cloudLit: '#54759d',
    cloudShade: '#142748',
    far: '#27496f',
    near: '#040811',
  },
  mist: {
    sky: ['#93a8b3', '#b5c5c6', '#dbe2da', '#f3efe2'],
    sun: '#fffaf0',
    cloudLit: '#f6f4ea',
    cloudShade: '#a9b9bd',
    far: '#bccac8',
    near: '#1f3237',
  },
  storm: {
    sky: ['#182230', '#33434f', '#66767f', '#b3b8ad'],
    sun: '#f4efdc',
    cloudLit: '#a9b4b6',
    cloudShade: '#27333f',
    far: '#75858c',
    near: '#0e161b',
  },
};

const ACCENT_SETS: readonly [readonly string[], ...(readonly string[])[]] = [
  ['#264653', '#2a9d8f', '#e9c46a', '#f4a261', '#e76f51'],
  ['#0f4c5c', '#5f0f40', '#9a031e', '#fb8b24', '#e9d8a6'],
  ['#f94144', '#f3722c', '#f9c74f', '#90be6d', '#577590'],
  ['#003049', '#d62828', '#f77f00', '#fcbf49', '#eae2b7'],
  ['#3d348b', '#7678ed', '#f7b801', '#f18701', '#f35b04'],
  ['#05668d', '#028090', '#00a896', '#f0f3bd', '#f4845f'],
  ['#355070', '#6d597a', '#b56576', '#e56b6f', '#eaac8b'],
  ['#001219', '#0a9396', '#94d2bd', '#ee9b00', '#ae2012'],
];
