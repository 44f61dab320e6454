import { createInstance } from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { SharedStrings, Strings } from '../locales/en/index.ts';
import type { OperatorStrings } from '../locales/en/operator.ts';
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
const OPERATOR_LOADERS: Record<Language, () => Promise<OperatorStrings>> = {
  en: async () => (await import('../locales/en/operator.ts')).enOperator,
  de: async () => (await import('../locales/de/operator.ts')).deOperator,
};
let isOperator = false;
const operatorLanguages = new Set<Language>();

export async function startI18n(): Promise<void> {
  const language = preferredLanguage();
  await i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: false,
    resources: { [language]: { translation: await LOADERS[language]() } },
    interpolation: { escapeValue: false },
  });
  document.documentElement.lang = language;
}

export async function chooseLanguage(language: Language): Promise<void> {
  if (!i18next.hasResourceBundle(language, 'translation')) {
    i18next.addResourceBundle(language, 'translation', await LOADERS[language]());
  }
  if (isOperator) await addOperatorTexts(language);
  writeStored(KEY, language);
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}

/** The texts of the operator's pages, now and in whichever language is chosen later. */
export async function loadOperatorTexts(): Promise<void> {
  isOperator = true;
  if (isLanguage(i18next.language)) await addOperatorTexts(i18next.language);
}

async function addOperatorTexts(language: Language): Promise<void> {
  if (operatorLanguages.has(language)) return;
  i18next.addResourceBundle(language, 'translation', await OPERATOR_LOADERS[language](), true);
  operatorLanguages.add(language);
}

/** Follows the account, unless this device has its own setting. */
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
