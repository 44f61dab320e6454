import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Answer } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { call, type ApiError } from '../../lib/api.ts';
import { formatExactUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { FormError, Loaded, Skeleton } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { Consequences } from './CreateTeam.tsx';
import { MEMBERSHIP_READS } from './team.ts';

type Offer = Answer<'POST /api/console/team/invited'>;

/** Shown to whoever opened an invitation's link; its secret is after the #. */
export function JoinCard({ isInTeam }: { isInTeam: boolean }) {
  const { t } = useTranslation();
  const [secret, setSecret] = useState(() => location.hash.slice(1));
  const forget = (): void => {
    history.replaceState(history.state, '', location.pathname);
    setSecret('');
  };
  if (secret === '') return null;
  if (isInTeam)
    return (
      <Card>
        <p className="text-ink-2">{t('team.joinInTeam')}</p>
        <Button small className="mt-3" onClick={forget}>
          {t('team.dismiss')}
        </Button>
      </Card>
    );
  return <Invitation secret={secret} onForget={forget} />;
}

function Invitation({ secret, onForget }: { secret: string; onForget: () => void }) {
  const offer = useQuery<Offer, ApiError>({
    queryKey: ['team invitation', secret],
    queryFn: async () => await call('POST /api/console/team/invited', { body: { secret } }),
    retry: false,
  });
  return (
    <Loaded query={offer} skeleton={<Skeleton className="h-40 w-full rounded-lg" />}>
      {(shown) => <Offered offer={shown} secret={secret} onForget={onForget} />}
    </Loaded>
  );
}

interface OfferedProps {
  readonly offer: Offer;
  readonly secret: string;
  readonly onForget: () => void;
}

function Offered({ offer, secret, onForget }: OfferedProps) {
  const { t, i18n } = useTranslation();
  const { team, role, budget } = offer;
  const join = useAction(async () => await call('POST /api/console/team/join', { body: { secret } }), {
    refresh: MEMBERSHIP_READS,
    onDone: () => {
      toast(t('team.joined', { team }));
      onForget();
    },
  });
  const amount = budget && formatExactUsd(budget.amountUsd, i18n.language);
  return (
    <Card title={t('team.joinTitle', { team })}>
      <div className="flex flex-col gap-4">
        <p>
          {t('team.joinRole', { role: t(`team.roles.${role}`) })} {t(`team.roleAbout.${role}`)}{' '}
          {budget ? t(`team.joinBudget.${budget.per}`, { amount: amount ?? '' }) : null}
        </p>
        <Consequences items={[t('team.tokenEnds'), t('team.joinVisible'), t('team.createOwn')]} />
        <FormError error={join.error} />
        <div className="flex flex-wrap gap-2">
          <Button kind="primary" busy={join.isPending} onClick={() => join.mutate()}>
            {t('team.joinGo')}
          </Button>
          <Button onClick={onForget}>{t('team.dismiss')}</Button>
        </div>
      </div>
    </Card>
  );
}
