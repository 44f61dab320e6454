import { useApi } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Page } from '../../ui/Card.tsx';
import { Loaded, Skeleton } from '../../ui/States.tsx';
import { AppearanceCard } from './AppearanceCard.tsx';
import { ExportCard } from './ExportCard.tsx';
import { PasskeysCard } from './PasskeysCard.tsx';
import { PasswordCard } from './PasswordCard.tsx';
import { ProfileCard } from './ProfileCard.tsx';
import { SessionsCard } from './SessionsCard.tsx';
import { TwoFactorCard } from './TwoFactorCard.tsx';
import { WarningCard } from './WarningCard.tsx';

export default function SettingsPage() {
  const { t } = useTranslation();
  const settings = useApi('GET /api/console/settings', undefined, { staleTime: Infinity });
  return (
    <Page title={t('settings.title')}>
      <Loaded query={settings} skeleton={<Skeleton className="h-96 w-full rounded-lg" />}>
        {(data) => (
          <div className="grid items-start gap-5 lg:grid-cols-2">
            <div className="flex min-w-0 flex-col gap-5">
              <ProfileCard settings={data} />
              <PasswordCard />
              <WarningCard settings={data} />
              <ExportCard />
            </div>
            <div className="flex min-w-0 flex-col gap-5">
              <AppearanceCard settings={data} />
              <PasskeysCard />
              <TwoFactorCard />
              <SessionsCard />
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  );
}
