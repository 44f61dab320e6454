import type { Settings } from '../../../src/console/contract.ts';
import { chooseLanguage, LANGUAGES, type Language } from '../../lib/i18n.ts';
import { useTheme, type ThemeChoice } from '../../lib/theme.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { SelectField } from '../../ui/Field.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { useSaveSettings } from './useSettings.ts';

const THEMES: readonly ThemeChoice[] = ['system', 'light', 'dark'];

/** Takes effect at once here, and is kept with the account for other devices. */
export function AppearanceCard({ settings }: { settings: Settings }) {
  const { t, i18n } = useTranslation();
  const { choice, choose } = useTheme();
  const save = useSaveSettings();
  return (
    <Card title={t('settings.appearance')}>
      <div className="flex flex-col gap-4">
        <SelectField
          label={t('settings.language')}
          value={i18n.language}
          onChange={(event) => {
            // Only languages of the table are offered.
            const language = event.target.value as Language;
            void chooseLanguage(language);
            if (language !== settings.language) save.mutate({ language });
          }}
        >
          {Object.entries(LANGUAGES).map(([code, name]) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </SelectField>
        <div className="flex flex-col gap-1.5">
          <span className="text-sm font-medium text-ink-2">{t('theme.label')}</span>
          <div>
            <Segments
              label={t('theme.label')}
              value={choice}
              onChange={(next) => {
                choose(next);
                save.mutate({ theme: next });
              }}
              options={THEMES.map((value) => ({ value, label: t(`theme.${value}`) }))}
            />
          </div>
        </div>
      </div>
    </Card>
  );
}
