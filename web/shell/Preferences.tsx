import Moon from 'lucide-react/icons/moon';
import Sun from 'lucide-react/icons/sun';
import { chooseLanguage } from '../lib/i18n.ts';
import { useTheme } from '../lib/theme.ts';
import { useTranslation } from '../lib/translation.tsx';
import { IconButton } from '../ui/Button.tsx';

export function ThemeButton() {
  const { t } = useTranslation();
  const { dark, choose } = useTheme();
  return (
    <IconButton
      label={dark ? t('theme.toLight') : t('theme.toDark')}
      onClick={() => choose(dark ? 'light' : 'dark')}
      className="size-9"
    >
      {dark ? <Sun size={16} aria-hidden /> : <Moon size={16} aria-hidden />}
    </IconButton>
  );
}

/** Names the language it leads to, in that language. */
export function LanguageButton() {
  const { i18n } = useTranslation();
  const other = i18n.language === 'de' ? 'en' : 'de';
  return (
    <button
      type="button"
      lang={other}
      aria-label={other === 'de' ? 'DE: Deutsch' : 'EN: English'}
      onClick={() => void chooseLanguage(other)}
      className="inline-grid size-9 place-items-center rounded-md text-sm font-medium text-ink-2 transition-colors hover:bg-hover hover:text-ink"
    >
      {other.toUpperCase()}
    </button>
  );
}
