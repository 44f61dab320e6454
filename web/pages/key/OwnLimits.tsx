import { useState } from 'react';
import type { Answer } from '../../../src/console/contract/routes.ts';
import { call } from '../../lib/api.ts';
import { formatUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Time } from '../../ui/Time.tsx';
import { LimitsDialog } from '../team/LimitsDialog.tsx';
import type { LimitsBody } from '../team/team.ts';

type Limited = Pick<Answer<'GET /api/console/token'>, 'budget' | 'limits'>;

/** What the own token may spend and be used for. */
export function OwnLimits({ limited }: { limited: Limited }) {
  const { t, i18n } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const { budget, limits } = limited;
  const usd = (amount: string): string => formatUsd(amount, i18n.language);
  const save = async ({ budget, models, networks, expiresAt }: LimitsBody) =>
    await call('POST /api/console/token/limits', { body: { budget, models, networks, expiresAt } });
  return (
    <Card
      title={t('key.limits')}
      hint={t('key.limitsHint')}
      actions={
        <Button small onClick={() => setOpen(true)}>
          {t('team.changeLimits')}
        </Button>
      }
    >
      <dl className="flex flex-col gap-1.5">
        <LedgerLine
          label={t('team.budget')}
          value={
            budget
              ? t(`team.budgetOf.${budget.per}`, { used: usd(budget.usedUsd), amount: usd(budget.amountUsd) })
              : t('team.noBudget')
          }
        />
        <LedgerLine label={t('team.models')} value={limits.models?.join(', ') ?? t('key.allModels')} />
        <LedgerLine label={t('team.networks')} value={limits.networks?.join(', ') ?? t('key.allNetworks')} />
        <LedgerLine
          label={t('team.lastDay')}
          value={limits.expiresAt === null ? t('key.noLastDay') : <Time at={limits.expiresAt - 1} />}
        />
      </dl>
      {isOpen ? (
        <LimitsDialog
          title={t('key.limits')}
          limited={limited}
          save={save}
          refresh={['GET /api/console/token', 'GET /api/console/overview']}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </Card>
  );
}
