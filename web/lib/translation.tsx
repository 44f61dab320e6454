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

/** The library takes as long for a text as a cell of a table takes to be rendered: those without values are asked for once. */
function remembering(t: TFunction): TFunction {
  const texts = new Map<string, string>();
  return new Proxy(t, {
    apply(look, self, call: [key: string, values?: object]) {
      const [key, values] = call;
      const known = values === undefined ? texts.get(key) : undefined;
      if (known !== undefined) return known;
      const text: unknown = Reflect.apply(look, self, call);
      // A key that stays is of texts that are still being loaded.
      if (values === undefined && typeof text === 'string' && text !== key) texts.set(key, text);
      return text;
    },
  });
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
