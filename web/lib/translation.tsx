import type { i18n, TFunction } from 'i18next';
import { createContext, useContext, useMemo, type ReactNode } from 'react';
import { useTranslation as useSubscription } from 'react-i18next';
import type { Strings } from '../locales/en/index.ts';

interface Translation {
  readonly t: TFunction;
  readonly i18n: Pick<i18n, 'language' | 'exists'>;
}

const CurrentTranslation = createContext<Translation | undefined>(undefined);

/** Provides the texts to everything inside it, and renders it again when another language is chosen. */
export function TranslationProvider({ children }: { readonly children: ReactNode }) {
  const { t, i18n } = useSubscription();
  const translation = useMemo(() => ({ t: remembering(t), i18n }), [t, i18n]);
  return <CurrentTranslation value={translation}>{children}</CurrentTranslation>;
}

/** The library takes as long for a text as a cell of a table takes to be rendered, so it is asked for each text once. */
function remembering(t: TFunction): TFunction {
  const texts = new Map<string, string>();
  return new Proxy(t, {
    apply(look, self, call: [key: string, values?: Readonly<Record<string, unknown>>]) {
      const [key, values = {}] = call;
      // Numbers are written, and choose between singular and plural, by the rules of a language.
      if (!areTexts(values)) return Reflect.apply(look, self, call);
      const known = texts.get(key);
      if (known !== undefined) return filled(known, values);
      const marks = Object.fromEntries(Object.keys(values).map((name) => [name, MARK + name + MARK]));
      const text: unknown = Reflect.apply(look, self, [key, marks]);
      // A key that stays is of texts that are still being loaded.
      if (typeof text !== 'string' || text === key) return text;
      texts.set(key, text);
      return filled(text, values);
    },
  });
}

/** Of no language: it stands around the name of a value. */
const MARK = '\uE000';

function areTexts(values: Readonly<Record<string, unknown>>): values is Readonly<Record<string, string>> {
  return Object.values(values).every((value) => typeof value === 'string');
}

function filled(text: string, values: Readonly<Record<string, string>>): string {
  if (!text.includes(MARK)) return text;
  return text
    .split(MARK)
    .map((part, index) => (index % 2 === 0 ? part : values[part]))
    .join('');
}

/** The library's hook subscribes every component separately, which takes longer than rendering a table cell. */
export function useTranslation(): Translation {
  const translation = useContext(CurrentTranslation);
  if (!translation) throw new Error('useTranslation is used outside of TranslationProvider');
  return translation;
}

type Named =
  | 'audit.labels'
  | 'audit.teamRoles'
  | 'audit.values'
  | 'catalog.aspects'
  | 'catalog.phrases'
  | 'catalog.words'
  | 'models.items'
  | 'operators.roles'
  | 'team.logActions'
  | 'team.roles'
  | 'webhooks.event'
  | 'webhooks.format';
const kept = new WeakMap<TFunction, Map<string, object>>();

/**
 * All texts under a name. The library puts them together anew each time, which for the names of all actions takes longer
 * than the row of a table that asks for them.
 */
export function textsOf(t: TFunction, name: 'audit.actions'): Strings['audit']['actions'];
export function textsOf(t: TFunction, name: Named): Readonly<Record<string, string>>;
export function textsOf(t: TFunction, name: Named | 'audit.actions'): unknown {
  const known = kept.get(t) ?? new Map<string, object>();
  kept.set(t, known);
  const texts = known.get(name) ?? t(name, { returnObjects: true });
  // A text instead: those of this page are still being loaded.
  if (typeof texts === 'object') known.set(name, texts);
  return texts;
}
