import { useState } from 'react';
import { useLocation } from 'wouter';
import UserPlus from 'lucide-react/icons/user-plus';
import Plus from 'lucide-react/icons/plus';
import { useAction } from '../../lib/action.ts';
import { call, useApi } from '../../lib/api.ts';
import { formatUsd } from '../../lib/money.ts';
import { formatRelative, useNow } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { chooseWallet } from '../../lib/wallet.ts';
import { AskDialog } from '../../ui/Dialog.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Money } from '../../ui/Money.tsx';
import { NextLimitLine } from '../../ui/Limits.tsx';
import { Empty, FormError, Loaded, Skeleton } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import TagUsage from '../usage/TagUsage.tsx';
import { AppToken, type MadeToken } from './AppToken.tsx';
import { CloseTeam } from './CloseTeam.tsx';
import { CreateTeam } from './CreateTeam.tsx';
import { InviteDialog } from './InviteDialog.tsx';
import { JoinCard } from './JoinCard.tsx';
import { NewApp } from './NewApp.tsx';
import { TeamLog, TeamRequests, TeamUsage } from './TeamActivity.tsx';
import { TeamTable } from './TeamTable.tsx';
import { MEMBERSHIP_READS, TEAM_READS, type Team } from './team.ts';

export default function TeamPage() {
  const { t } = useTranslation();
  const state = useApi('GET /api/console/team');
  const team = state.data?.team;
  return (
    <Page
      title={team?.name ?? t('team.title')}
      lead={
        team
          ? `${t('team.role', { role: t(`team.roles.${team.role}`) })} ${t(`team.roleAbout.${team.role}`)}`
          : t('team.lead')
      }
      actions={
        team ? (
          <div className="flex flex-wrap gap-2">
            {team.closing ? <CloseTeam name={team.name} closing={team.closing} /> : null}
            <Leave name={team.name} />
          </div>
        ) : undefined
      }
    >
      <Loaded query={state} skeleton={<Skeleton className="h-40 w-full rounded-lg" />}>
        {(shown) => (
          <>
            <JoinCard isInTeam={shown.team !== null} />
            {shown.team ? <OwnTeam team={shown.team} /> : <NoTeam movableUsd={shown.movableUsd ?? '0.00'} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function NoTeam({ movableUsd }: { movableUsd: string }) {
  const { t } = useTranslation();
  const [isCreating, setCreating] = useState(false);
  return (
    <Card>
      <Empty
        title={t('team.noneTitle')}
        action={
          <Button kind="primary" onClick={() => setCreating(true)}>
            {t('team.create')}
          </Button>
        }
      >
        {t('team.noneLead')}
      </Empty>
      {isCreating ? <CreateTeam movableUsd={movableUsd} onClose={() => setCreating(false)} /> : null}
    </Card>
  );
}

function OwnTeam({ team }: { team: Team }) {
  const { t } = useTranslation();
  const [dialog, setDialog] = useState<'app' | 'invite'>();
  const [made, setMade] = useState<MadeToken>();
  const { rights } = team;
  return (
    <>
      {team.isPaused ? (
        <p role="alert" className="rounded-lg border border-bad-line bg-bad-soft px-5 py-4 text-bad">
          {t('team.teamPaused')}
        </p>
      ) : null}
      <div className={team.money ? 'grid gap-5 lg:grid-cols-[1fr_1.2fr]' : 'flex flex-col gap-5'}>
        {team.money ? (
          <Balance money={team.money} limit={team.nextLimit} mayPay={rights.includes('change_money')} />
        ) : team.nextLimit ? (
          <NextLimitLine limit={team.nextLimit} />
        ) : null}
        <TeamUsage />
      </div>
      <Card
        flush
        title={rights.includes('see_all') ? t('team.accounts') : t('team.ownAccount')}
        hint={rights.includes('see_all') ? t('team.accountsHint') : undefined}
        actions={
          <div className="flex flex-wrap gap-2">
            {rights.includes('change_members') ? (
              <Button small icon={<UserPlus size={15} aria-hidden />} onClick={() => setDialog('invite')}>
                {t('team.invite')}
              </Button>
            ) : null}
            {rights.includes('change_apps') ? (
              <Button
                small
                kind="primary"
                icon={<Plus size={15} aria-hidden />}
                onClick={() => setDialog('app')}
              >
                {t('team.newApp')}
              </Button>
            ) : null}
          </div>
        }
      >
        <TeamTable team={team} onToken={setMade} />
      </Card>
      {team.invites.length > 0 ? <OpenInvites team={team} /> : null}
      <TagUsage wallet="team" />
      <TeamRequests />
      {rights.includes('see_log') ? <TeamLog /> : null}
      {dialog === 'app' ? <NewApp onMade={setMade} onClose={() => setDialog(undefined)} /> : null}
      {dialog === 'invite' ? <InviteDialog team={team} onClose={() => setDialog(undefined)} /> : null}
      {made ? <AppToken made={made} onClose={() => setMade(undefined)} /> : null}
    </>
  );
}

function Balance({
  money,
  limit,
  mayPay,
}: {
  money: NonNullable<Team['money']>;
  limit: Team['nextLimit'];
  mayPay: boolean;
}) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const open = (): void => {
    chooseWallet('team');
    navigate('/app/billing');
  };
  return (
    <Card>
      <p className="text-sm text-ink-3">{t('team.available')}</p>
      <p className="text-2xl font-semibold tracking-tight">
        <Money usd={money.availableUsd} kind="available" />
      </p>
      <dl className="mt-5 flex flex-col gap-1.5">
        <LedgerLine label={t('team.balance')} value={<Money usd={money.balanceUsd} kind="available" />} />
        <LedgerLine label={t('team.held')} value={<Money usd={money.heldUsd} />} />
      </dl>
      {limit ? (
        <div className="mt-4">
          <NextLimitLine limit={limit} />
        </div>
      ) : null}
      <div className="mt-4">
        <Button small onClick={open}>
          {mayPay ? t('team.funds') : t('team.billing')}
        </Button>
      </div>
    </Card>
  );
}

function Leave({ name }: { name: string }) {
  const { t } = useTranslation();
  const [isAsking, setAsking] = useState(false);
  const leave = useAction(async () => await call('POST /api/console/team/leave', { body: {} }), {
    refresh: MEMBERSHIP_READS,
    onDone: () => toast(t('team.left')),
  });
  return (
    <>
      <Button small busy={leave.isPending} onClick={() => setAsking(true)}>
        {t('team.leave')}
      </Button>
      <FormError error={leave.error} />
      <AskDialog
        open={isAsking}
        title={t('team.leaveTitle', { team: name })}
        go={t('team.leaveGo')}
        onGo={() => leave.mutate()}
        onClose={() => setAsking(false)}
      >
        {t('team.leaveLead')}
      </AskDialog>
    </>
  );
}

function OpenInvites({ team }: { team: Team }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const end = useAction(
    async (id: string) => await call('DELETE /api/console/team/invites/{id}', { params: { id } }),
    { refresh: TEAM_READS, onDone: () => toast(t('team.inviteEnded')) },
  );
  return (
    <Card title={t('team.invites')}>
      <FormError error={end.error} />
      <ul className="flex flex-col divide-y divide-line">
        {team.invites.map((invite) => (
          <li
            key={invite.id}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2 first:pt-0 last:pb-0"
          >
            <span className="flex-1 basis-40">
              {t(`team.roles.${invite.role}`)}
              {invite.budget ? (
                <span className="text-ink-3">
                  {' · '}
                  {t(`team.budgetPer.${invite.budget.per}`, {
                    amount: formatUsd(invite.budget.amountUsd, i18n.language),
                  })}
                </span>
              ) : null}
            </span>
            <span className="text-sm text-ink-3">
              {t('team.inviteEnds', { when: formatRelative(invite.expiresAt, now, i18n.language) })}
            </span>
            <Button small busy={end.isPending} onClick={() => end.mutate(invite.id)}>
              {t('team.endInvite')}
            </Button>
          </li>
        ))}
      </ul>
    </Card>
  );
}
