import { useEffect } from 'react';
import type { SignedInUser } from '../../src/console/contract.ts';
import { adoptLanguage } from './i18n.ts';
import { adoptTheme } from './theme.ts';

/** On a device without its own settings, the account's language and theme apply. */
export function usePreferencesOf(user: SignedInUser | null | undefined): void {
  const theme = user?.theme;
  const language = user?.language;
  useEffect(() => {
    if (theme) adoptTheme(theme);
    if (language) void adoptLanguage(language);
  }, [theme, language]);
}
