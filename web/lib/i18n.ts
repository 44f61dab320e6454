import { createInstance } from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { SharedStrings, Strings } from '../locales/en/index.ts';
import { loadChunk } from './chunk.ts';
import { readStored, writeStored } from './storage.ts';

export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof LANGUAGES;

declare module 'i18next' {
  interface CustomTypeOptions {
    resources: { translation: Strings };
    returnNull: false;
  }
}

const KEY = 'tollgate.language';
const i18next = createInstance();

/** Only the language in use is loaded; the other one is a chunk of its own. */
const LOADERS: Record<Language, () => Promise<SharedStrings>> = {
  en: async () => (await import('../locales/en/index.ts')).en,
  de: async () => (await import('../locales/de/index.ts')).de,
};
/** Texts that only some pages need, loaded with those. */
const TEXT_SETS = {
  operator: {
    en: async () => (await import('../locales/en/operator.ts')).enOperator,
    de: async () => (await import('../locales/de/operator.ts')).deOperator,
  },
  playground: {
    en: async () => (await import('../locales/en/playgroundTexts.ts')).enPlayground,
    de: async () => (await import('../locales/de/playgroundTexts.ts')).dePlayground,
  },
  team: {
    en: async () => (await import('../locales/en/team.ts')).enTeam,
    de: async () => (await import('../locales/de/team.ts')).deTeam,
  },
} as const satisfies Record<string, Record<Language, () => Promise<object>>>;
type TextSet = keyof typeof TEXT_SETS;
const wantedSets = new Set<TextSet>();
/** Such as `playground de`. */
const loadedSets = new Set<string>();

export async function startI18n(): Promise<void> {
  const language = preferredLanguage();
  await i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: false,
    resources: { [language]: { translation: await loadChunk(LOADERS[language]) } },
    interpolation: { escapeValue: false },
  });
  document.documentElement.lang = language;
}

export async function chooseLanguage(language: Language): Promise<void> {
  if (!i18next.hasResourceBundle(language, 'translation')) {
    i18next.addResourceBundle(language, 'translation', await loadChunk(LOADERS[language]));
  }
  await loadChunk(() => Promise.all([...wantedSets].map((set) => addTexts(set, language))));
  writeStored(KEY, language);
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}

/** Loads the texts of some pages, now and for whichever language is chosen later. */
export async function loadTexts(set: TextSet): Promise<void> {
  wantedSets.add(set);
  if (isLanguage(i18next.language)) await addTexts(set, i18next.language);
}

async function addTexts(set: TextSet, language: Language): Promise<void> {
  const name = `${set} ${language}`;
  if (loadedSets.has(name)) return;
  i18next.addResourceBundle(language, 'translation', await TEXT_SETS[set][language](), true);
  loadedSets.add(name);
}

/** Applies the account's setting, unless this device has its own. */
export async function adoptLanguage(language: string): Promise<void> {
  if (readStored(KEY) === undefined && isLanguage(language) && language !== i18next.language)
    await chooseLanguage(language);
}

function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(LANGUAGES, text);
}

function preferredLanguage(): Language {
  const stored = readStored(KEY);
  for (const wanted of [stored, ...navigator.languages]) {
    const base = wanted?.slice(0, 2);
    if (isLanguage(base)) return base;
  }
  return 'en';
}
