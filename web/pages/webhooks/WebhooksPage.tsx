import { useState } from 'react';
import { useApi } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Page } from '../../ui/Card.tsx';
import { Link } from '../../ui/Link.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { ACCOUNT_WEBHOOKS, TEAM_WEBHOOKS } from './calls.ts';
import { Webhooks } from './Webhooks.tsx';

type Owner = 'account' | 'team';

export default function WebhooksPage() {
  const { t } = useTranslation();
  const team = useApi('GET /api/console/team').data?.team;
  const [owner, setOwner] = useState<Owner>('account');
  return (
    <Page
      title={t('webhooks.title')}
      lead={t('webhooks.lead')}
      actions={
        <Link href="/docs/webhooks" className="text-accent underline underline-offset-2">
          {t('webhooks.guide')}
        </Link>
      }
    >
      {team?.rights.includes('change_webhooks') ? (
        <Segments
          label={t('webhooks.whose')}
          value={owner}
          onChange={setOwner}
          options={[
            { value: 'account', label: t('webhooks.own') },
            { value: 'team', label: team.name },
          ]}
        />
      ) : null}
      <Webhooks
        key={owner}
        calls={owner === 'team' ? TEAM_WEBHOOKS : ACCOUNT_WEBHOOKS}
        urlHint={t('webhooks.urlHint')}
      />
    </Page>
  );
}
