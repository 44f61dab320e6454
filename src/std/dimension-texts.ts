import type { PricedItem } from './price-dimensions.ts';

interface DimensionText {
  /** In a list of prices. */
  readonly label: string;
  /** After a number, on a receipt. */
  readonly one: string;
  readonly other: string;
}

/** How people read the dimensions. */
const TEXTS: Readonly<Record<'en' | 'de', Readonly<Record<PricedItem, DimensionText>>>> = {
  en: {
    input: { label: 'Input', one: 'input token', other: 'input tokens' },
    cached_input: { label: 'Cached input', one: 'cached input token', other: 'cached input tokens' },
    cache_write: {
      label: 'Cache write',
      one: 'input token written to a cache',
      other: 'input tokens written to a cache',
    },
    cache_write_1h: {
      label: 'Cache write for an hour',
      one: 'input token written to a cache for an hour',
      other: 'input tokens written to a cache for an hour',
    },
    audio_input: { label: 'Audio input', one: 'audio input token', other: 'audio input tokens' },
    image_input: { label: 'Image input', one: 'image input token', other: 'image input tokens' },
    output: { label: 'Output', one: 'output token', other: 'output tokens' },
    reasoning: { label: 'Reasoning', one: 'reasoning token', other: 'reasoning tokens' },
    audio_output: { label: 'Audio output', one: 'audio output token', other: 'audio output tokens' },
    image_output: { label: 'Image output', one: 'image output token', other: 'image output tokens' },
    web_search: { label: 'Per web search', one: 'web search', other: 'web searches' },
    image: { label: 'Per image', one: 'image', other: 'images' },
    megapixel: { label: 'Per megapixel', one: 'pixel', other: 'pixels' },
    input_image: { label: 'Per input image', one: 'input image', other: 'input images' },
    partial_image: { label: 'Per partial image', one: 'partial image', other: 'partial images' },
    request: { label: 'Per request', one: 'request', other: 'requests' },
  },
  de: {
    input: { label: 'Eingabe', one: 'Token Eingabe', other: 'Tokens Eingabe' },
    cached_input: {
      label: 'Eingabe aus Cache',
      one: 'Token Eingabe aus Cache',
      other: 'Tokens Eingabe aus Cache',
    },
    cache_write: {
      label: 'Schreiben in den Cache',
      one: 'Token Eingabe in den Cache',
      other: 'Tokens Eingabe in den Cache',
    },
    cache_write_1h: {
      label: 'Schreiben in den Cache für eine Stunde',
      one: 'Token Eingabe für eine Stunde in den Cache',
      other: 'Tokens Eingabe für eine Stunde in den Cache',
    },
    audio_input: { label: 'Audio-Eingabe', one: 'Token Audio-Eingabe', other: 'Tokens Audio-Eingabe' },
    image_input: { label: 'Bild-Eingabe', one: 'Token Bild-Eingabe', other: 'Tokens Bild-Eingabe' },
    output: { label: 'Ausgabe', one: 'Token Ausgabe', other: 'Tokens Ausgabe' },
    reasoning: { label: 'Denken', one: 'Token Denken', other: 'Tokens Denken' },
    audio_output: { label: 'Audio-Ausgabe', one: 'Token Audio-Ausgabe', other: 'Tokens Audio-Ausgabe' },
    image_output: { label: 'Bild-Ausgabe', one: 'Token Bild-Ausgabe', other: 'Tokens Bild-Ausgabe' },
    web_search: { label: 'Pro Websuche', one: 'Websuche', other: 'Websuchen' },
    image: { label: 'Pro Bild', one: 'Bild', other: 'Bilder' },
    megapixel: { label: 'Pro Megapixel', one: 'Pixel', other: 'Pixel' },
    input_image: { label: 'Pro Eingabebild', one: 'Eingabebild', other: 'Eingabebilder' },
    partial_image: { label: 'Pro Zwischenbild', one: 'Zwischenbild', other: 'Zwischenbilder' },
    request: { label: 'Pro Anfrage', one: 'Anfrage', other: 'Anfragen' },
  },
};

export function priceLabels(language: 'en' | 'de'): Record<PricedItem, string> {
  const labels = Object.entries(TEXTS[language]).map(([item, { label }]) => [item, label]);
  return Object.fromEntries(labels) as Record<PricedItem, string>;
}

type CountedName = `${PricedItem}_${'one' | 'other'}`;

/** By the names that the translations use for numbers. */
export function countedNames(language: 'en' | 'de'): Record<CountedName, string> {
  const names = Object.entries(TEXTS[language]).flatMap(([item, { one, other }]) => [
    [`${item}_one`, one],
    [`${item}_other`, other],
  ]);
  return Object.fromEntries(names) as Record<CountedName, string>;
}
