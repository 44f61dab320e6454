import type { ReactNode } from 'react';
import { useTranslation } from '../../lib/translation.tsx';
import { useWallet } from '../../lib/wallet.ts';
import { Card, Page } from '../../ui/Card.tsx';
import { Empty } from '../../ui/States.tsx';

/** A page about money; members of a team see only their own account, and are told so. */
export function SeesMoney({ title, children }: { title: string; children: ReactNode }) {
  const { t } = useTranslation();
  const { team } = useWallet();
  if (!team || team.rights.includes('see_money')) return children;
  return (
    <Page title={title}>
      <Card>
        <Empty title={t('billing.hidden')}>{t('billing.hiddenLead')}</Empty>
      </Card>
    </Page>
  );
}
