import { useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import type { AuthRoutes } from '../../../src/console/contract.ts';
import { useAction } from '../../lib/action.ts';
import { callAuth } from '../../lib/api.ts';
import { refreshSession } from '../../lib/query.ts';
import { useUser } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Badge } from '../../ui/Badge.tsx';
import { Card } from '../../ui/Card.tsx';
import { toast } from '../../ui/Toast.tsx';
import { BackupCodes } from './BackupCodes.tsx';
import { EnrolDialog } from './EnrolDialog.tsx';
import { PasswordDialog } from './PasswordDialog.tsx';

type Enrolment = AuthRoutes['POST /api/auth/two-factor/enable']['response'];

/** Turning the second factor on shows a secret and backup codes once; it counts only after a code was verified. */
export function TwoFactorCard() {
  const { t } = useTranslation();
  const user = useUser();
  const client = useQueryClient();
  const [asking, setAsking] = useState<'enable' | 'disable' | 'codes'>();
  const [enrolment, setEnrolment] = useState<Enrolment>();
  const [codes, setCodes] = useState<string[]>();
  const act = useAction(
    async (password: string) => {
      if (asking === 'enable') setEnrolment(await callAuth('POST /api/auth/two-factor/enable', { password }));
      else if (asking === 'codes')
        setCodes(
          (await callAuth('POST /api/auth/two-factor/generate-backup-codes', { password })).backupCodes,
        );
      else {
        await callAuth('POST /api/auth/two-factor/disable', { password });
        toast(t('settings.turnedOff'));
      }
      await refreshSession(client);
    },
    { onDone: () => setAsking(undefined) },
  );
  const ask = (what: typeof asking) => () => {
    act.reset();
    setAsking(what);
  };
  return (
    <Card
      title={t('settings.twoFactor')}
      actions={user.twoFactor ? <Badge tone="good">{t('settings.turnedOn')}</Badge> : null}
    >
      <p className="mb-4 text-ink-2">
        {user.twoFactor ? t('settings.twoFactorOn') : t('settings.twoFactorOff')}
      </p>
      <div className="flex flex-wrap gap-2">
        {user.twoFactor ? (
          <>
            <Button onClick={ask('codes')}>{t('settings.newCodes')}</Button>
            <Button kind="ghost" onClick={ask('disable')}>
              {t('settings.disable')}
            </Button>
          </>
        ) : (
          <Button onClick={ask('enable')} disabled={!user.hasPassword}>
            {t('settings.enable')}
          </Button>
        )}
      </div>
      {asking ? (
        <PasswordDialog
          error={act.error}
          busy={act.isPending}
          onPassword={(password) => act.mutate(password)}
          onClose={ask(undefined)}
        />
      ) : null}
      {enrolment ? <EnrolDialog {...enrolment} onClose={() => setEnrolment(undefined)} /> : null}
      {codes ? <BackupCodes codes={codes} onClose={() => setCodes(undefined)} /> : null}
    </Card>
  );
}
