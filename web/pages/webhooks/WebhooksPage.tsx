import { useTranslation } from '../../lib/translation.tsx';
import { useWallet } from '../../lib/wallet.ts';
import { Page } from '../../ui/Card.tsx';
import { Link } from '../../ui/Link.tsx';
import { Empty } from '../../ui/States.tsx';
import { ACCOUNT_WEBHOOKS, TEAM_WEBHOOKS } from './calls.ts';
import { Webhooks } from './Webhooks.tsx';

export default function WebhooksPage() {
  const { t } = useTranslation();
  const { wallet, team } = useWallet();
  return (
    <Page
      title={t('webhooks.title')}
      lead={team ? t('webhooks.teamLead', { team: team.name }) : t('webhooks.lead')}
      actions={
        <Link href="/docs/webhooks" className="text-accent underline underline-offset-2">
          {t('webhooks.guide')}
        </Link>
      }
    >
      {team && !team.rights.includes('change_webhooks') ? (
        <Empty title={t('webhooks.notYours')} />
      ) : (
        <Webhooks
          key={wallet}
          calls={team ? TEAM_WEBHOOKS : ACCOUNT_WEBHOOKS}
          urlHint={t('webhooks.urlHint')}
        />
      )}
    </Page>
  );
}
