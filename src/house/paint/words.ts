import type { Daytime } from './palette.ts';

export type Scene =
  | 'mountains'
  | 'dunes'
  | 'forest'
  | 'sea'
  | 'city'
  | 'flowers'
  | 'space'
  | 'ribbons'
  | 'silk'
  | 'shapes';

/** Details a scene may show. A scene takes those it knows. */
export type Detail =
  | 'water'
  | 'fog'
  | 'snow'
  | 'stars'
  | 'moon'
  | 'aurora'
  | 'birds'
  | 'boat'
  | 'trees'
  | 'blossoms'
  | 'rings'
  | 'clouds'
  | 'brush';

/** Words as prompts use them, in their simplest form: plural endings are removed before the lookup. */
export const SCENE_WORDS: ReadonlyMap<string, Scene> = table<Scene>({
  mountains:
    'mountain peak alp summit ridge cliff hill valley volcano fuji landscape nature glacier highland himalaya fjord horizon',
  dunes: 'desert dune sand sahara egypt canyon arizona dubai camel',
  forest: 'forest wood pine jungle taiga grove fir woodland rainforest tree redwood',
  sea: 'sea ocean wave beach coast shore island sail sailing boat ship harbor harbour tropical surf yacht lagoon pacific atlantic',
  city: 'city skyline town street skyscraper building tokyo york london urban cyberpunk neon metropolis downtown manhattan shanghai office tower',
  flowers:
    'flower rose meadow wildflower tulip blossom bloom garden bouquet dahlia lotus petal sakura poppy peony sunflower lily orchid spring floral daisy',
  space:
    'space galaxy planet nebula cosmo cosmos universe astronaut mars saturn jupiter rocket orbit cosmic interstellar asteroid',
  ribbons:
    'abstract flow wind music dance energy motion data network ai idea speed hair rhythm song melody stream storytelling code',
  silk: 'silk smoke liquid marble dream fluid ink texture wallpaper gradient fire flame lava emotion cloth velvet mind soul',
  shapes:
    'geometric geometry pattern bauhaus poster minimal minimalist shape circle square triangle logo icon tile mosaic gate toll tollgate cubist cubism',
});

export const DAYTIME_WORDS: ReadonlyMap<string, Daytime> = table<Daytime>({
  dawn: 'dawn sunrise morning pastel spring',
  day: 'day daylight noon midday sunny summer bright',
  golden: 'golden gold autumn fall afternoon warm',
  dusk: 'dusk sunset evening twilight sundown',
  night:
    'night northern borealis midnight moon moonlight moonlit star starry dark aurora nocturnal cyberpunk neon',
  mist: 'mist misty fog foggy haze hazy rain rainy winter quiet calm',
  storm: 'storm stormy thunder gloomy dramatic tempest',
});

export const DETAIL_WORDS: ReadonlyMap<string, Detail> = table<Detail>({
  water: 'lake water reflection river pond reflected mirror fjord sea ocean bay harbor harbour',
  fog: 'fog foggy mist misty haze hazy',
  snow: 'snow snowy winter ice icy glacier alp frozen himalaya',
  stars: 'star starry stargazing constellation',
  moon: 'moon moonlight moonlit',
  aurora: 'aurora northern borealis',
  birds: 'bird gull crane swallow geese goose eagle',
  boat: 'boat ship sail sailing yacht sailboat',
  trees: 'forest tree pine wood fir taiga woodland grove',
  blossoms: 'flower meadow blossom poppy field wildflower bloom tulip garden',
  rings: 'saturn ring ringed',
  clouds: 'cloud cloudy overcast',
  brush:
    'painting painted oil brush impressionist impressionism impressionistic monet gogh acrylic watercolor watercolour painterly gouache',
});

/** OKLCH hue in degrees, and what else the word says about the colour. */
export interface ColourWord {
  readonly hue?: number;
  readonly chroma?: number;
  readonly lightness?: number;
}

export const COLOUR_WORDS: ReadonlyMap<string, ColourWord> = new Map<string, ColourWord>([
  ['red', { hue: 27 }],
  ['crimson', { hue: 20 }],
  ['scarlet', { hue: 30 }],
  ['ruby', { hue: 18 }],
  ['orange', { hue: 55 }],
  ['amber', { hue: 72 }],
  ['copper', { hue: 50 }],
  ['gold', { hue: 85 }],
  ['golden', { hue: 82 }],
  ['yellow', { hue: 100 }],
  ['lime', { hue: 125 }],
  ['green', { hue: 148 }],
  ['emerald', { hue: 160 }],
  ['jade', { hue: 165 }],
  ['olive', { hue: 115, chroma: 0.8 }],
  ['mint', { hue: 168, lightness: 0.05 }],
  ['teal', { hue: 195 }],
  ['turquoise', { hue: 190 }],
  ['cyan', { hue: 205 }],
  ['azure', { hue: 240 }],
  ['blue', { hue: 255 }],
  ['navy', { hue: 262, lightness: -0.06 }],
  ['cobalt', { hue: 262 }],
  ['indigo', { hue: 278 }],
  ['violet', { hue: 298 }],
  ['purple', { hue: 306 }],
  ['lavender', { hue: 300, lightness: 0.05 }],
  ['magenta', { hue: 335 }],
  ['pink', { hue: 355, lightness: 0.03 }],
  ['coral', { hue: 33 }],
  ['peach', { hue: 55, lightness: 0.05 }],
  ['brown', { hue: 60, chroma: 0.75, lightness: -0.05 }],
  ['sepia', { hue: 75, chroma: 0.55 }],
  ['fire', { hue: 40 }],
  ['flame', { hue: 45 }],
  ['lava', { hue: 32 }],
  ['ice', { hue: 225, lightness: 0.04 }],
  ['black', { chroma: 0.45, lightness: -0.08 }],
  ['white', { chroma: 0.55, lightness: 0.06 }],
  ['grey', { chroma: 0.35 }],
  ['gray', { chroma: 0.35 }],
  ['silver', { hue: 250, chroma: 0.4 }],
  ['monochrome', { chroma: 0.08 }],
  ['pastel', { chroma: 0.75, lightness: 0.06 }],
  ['vivid', { chroma: 1.25 }],
  ['vibrant', { chroma: 1.25 }],
  ['colorful', { chroma: 1.2 }],
  ['colourful', { chroma: 1.2 }],
  ['neon', { chroma: 1.3 }],
  ['natural', { chroma: 0.92 }],
  ['muted', { chroma: 0.7 }],
  ['dark', { lightness: -0.05 }],
  ['pale', { chroma: 0.8, lightness: 0.06 }],
]);

function table<T extends string>(rows: Readonly<Partial<Record<T, string>>>): ReadonlyMap<string, T> {
  const map = new Map<string, T>();
  // Object.entries loses the key type of the Record.
  for (const [value, words] of Object.entries(rows) as [T, string][]) {
    for (const word of words.split(' ')) map.set(word, value);
  }
  return map;
}
