import type { i18n, TFunction } from 'i18next';
import { createContext, useContext, useMemo, type ReactNode } from 'react';
import { useTranslation as useSubscription } from 'react-i18next';

interface Translation {
  readonly t: TFunction;
  readonly i18n: Pick<i18n, 'language' | 'exists'>;
}

const CurrentTranslation = createContext<Translation | undefined>(undefined);

/** Provides the texts to everything inside it, and renders it again when another language is chosen. */
export function TranslationProvider({ children }: { readonly children: ReactNode }) {
  const { t, i18n } = useSubscription();
  const translation = useMemo(() => ({ t, i18n }), [t, i18n]);
  return <CurrentTranslation value={translation}>{children}</CurrentTranslation>;
}

/** The library's hook subscribes every component separately, which takes longer than rendering a table cell. */
export function useTranslation(): Translation {
  const translation = useContext(CurrentTranslation);
  if (!translation) throw new Error('useTranslation is used outside of TranslationProvider');
  return translation;
}
