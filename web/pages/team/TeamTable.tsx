import Ellipsis from 'lucide-react/icons/ellipsis';
import { formatUsd } from '../../lib/money.ts';
import { formatRelative, useNow } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Badge } from '../../ui/Badge.tsx';
import { IconButton } from '../../ui/Button.tsx';
import { Link } from '../../ui/Link.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Meter } from '../../ui/Limits.tsx';
import { FormError } from '../../ui/States.tsx';
import { Table, type Column } from '../../ui/Table.tsx';
import { Time } from '../../ui/Time.tsx';
import type { MadeToken } from './AppToken.tsx';
import { AccountLimits } from './LimitsDialog.tsx';
import { RoleDialog } from './RoleDialog.tsx';
import { useAccountActions, type AccountActions } from './accountActions.ts';
import type { Team, TeamAccount } from './team.ts';
import { AskDialog } from '../../ui/Dialog.tsx';

/** Members and apps in one table, with what each may spend and has spent. */
export function TeamTable({ team, onToken }: { team: Team; onToken: (made: MadeToken) => void }) {
  const { t } = useTranslation();
  const actions = useAccountActions(team, onToken);
  const { chosen, close } = actions;
  return (
    <>
      {actions.error ? (
        <div className="px-5 pb-3">
          <FormError error={actions.error} />
        </div>
      ) : null}
      <Table
        label={t('team.accounts')}
        rows={team.accounts}
        rowKey={(row) => row.id}
        columns={useColumns(team, actions)}
      />
      {chosen?.what === 'limits' ? <AccountLimits account={chosen.account} onClose={close} /> : null}
      {chosen?.what === 'role' ? <RoleDialog team={team} account={chosen.account} onClose={close} /> : null}
      <Questions actions={actions} />
    </>
  );
}

function useColumns(team: Team, actions: AccountActions): readonly Column<TeamAccount>[] {
  const { t } = useTranslation();
  const columns: Column<TeamAccount>[] = [
    {
      id: 'name',
      header: t('team.account'),
      card: 'title',
      cell: (row) => <Name account={row} isOwn={row.id === team.ownId} />,
    },
    {
      id: 'kind',
      header: t('team.kind'),
      cell: (row) => (row.kind === 'app' ? t('team.app') : t(`team.roles.${row.role}`)),
    },
    {
      id: 'budget',
      header: t('team.budget'),
      className: 'min-w-44',
      cell: (row) => <BudgetBar account={row} />,
    },
    {
      id: 'token',
      header: t('team.token'),
      className: 'whitespace-nowrap',
      cell: (row) => <TokenHint account={row} isOwn={row.id === team.ownId} />,
    },
    {
      id: 'used',
      header: t('team.used'),
      className: 'whitespace-nowrap',
      cell: (row) =>
        row.usedAt ? (
          <Time at={row.usedAt} style="relative" />
        ) : (
          <span className="text-ink-3">{t('team.neverUsed')}</span>
        ),
    },
    { id: 'state', header: t('team.state'), cell: (row) => <State account={row} /> },
  ];
  if (!team.rights.includes('change_apps')) return columns;
  return [
    ...columns,
    {
      id: 'actions',
      header: <span className="sr-only">{t('team.rowActions')}</span>,
      align: 'right',
      card: 'aside',
      cell: (row) => <RowMenu account={row} actions={actions} />,
    },
  ];
}

function Name({ account, isOwn }: { account: TeamAccount; isOwn: boolean }) {
  const { t } = useTranslation();
  const { models, expiresAt } = account.limits;
  return (
    <div className="min-w-0">
      <span className="font-medium break-words">{account.name}</span>
      {isOwn ? <span className="text-ink-3"> ({t('team.you')})</span> : null}
      {models ? (
        <span className="block text-xs font-normal break-all text-ink-3">
          {t('team.limited', { models: models.join(', ') })}
        </span>
      ) : null}
      {expiresAt ? (
        <span className="block text-xs font-normal text-ink-3">
          {t('team.lastDay')}: <Time at={expiresAt - 1} style="date" />
        </span>
      ) : null}
    </div>
  );
}

function TokenHint({ account, isOwn }: { account: TeamAccount; isOwn: boolean }) {
  const { t } = useTranslation();
  if (account.tokenHint) return <code>{account.tokenHint}</code>;
  if (isOwn && account.role !== 'viewer')
    return (
      <Link href="/app/key" className="text-accent underline-offset-2 hover:underline">
        {t('team.createToken')}
      </Link>
    );
  return <span className="text-ink-3">{t('team.noToken')}</span>;
}

/** From this share on it is of interest when the budget begins again. */
const NEARLY_USED = 0.8;

function BudgetBar({ account }: { account: TeamAccount }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const { budget, name } = account;
  if (!budget) return <span className="text-ink-3">{t('team.noBudget')}</span>;
  const shown = (usd: string): string => formatUsd(usd, i18n.language);
  const amount = Number(budget.amountUsd);
  const taken = Number(budget.usedUsd) + Number(budget.heldUsd);
  const share = amount > 0 ? taken / amount : 1;
  const text = t(`team.budgetOf.${budget.per}`, {
    used: shown(budget.usedUsd),
    amount: shown(budget.amountUsd),
  });
  return (
    <div className="flex max-w-56 flex-col gap-1">
      <span className="tabular-nums">{text}</span>
      <Meter share={share} label={t('team.budgetMeter', { name })} />
      {share >= NEARLY_USED && budget.resetsAt !== null ? (
        <span className="text-xs text-ink-3">
          {t('team.budgetResets', { when: formatRelative(budget.resetsAt, now, i18n.language) })}
        </span>
      ) : null}
    </div>
  );
}

const TONES = { active: 'good', paused: 'neutral', expired: 'warn' } as const;

function State({ account: { state } }: { account: TeamAccount }) {
  const { t } = useTranslation();
  return <Badge tone={TONES[state]}>{t(`team.states.${state}`)}</Badge>;
}

function RowMenu({ account, actions }: { account: TeamAccount; actions: AccountActions }) {
  const { t } = useTranslation();
  const items = actions.itemsFor(account);
  if (items.length === 0) return null;
  return (
    <Menu
      trigger={
        <IconButton label={t('team.actions', { name: account.name })}>
          <Ellipsis size={17} aria-hidden />
        </IconButton>
      }
      items={items}
    />
  );
}

/** Asks before an action that cannot be undone, and names its consequences. */
function Questions({ actions }: { actions: AccountActions }) {
  const { t } = useTranslation();
  const { chosen, close } = actions;
  if (!chosen) return null;
  const { what, account } = chosen;
  const { name } = account;
  switch (what) {
    case 'replace':
      return (
        <AskDialog
          open
          title={t('team.replaceTitle', { name })}
          go={t('team.replaceGo')}
          onGo={() => actions.replaceToken(account)}
          onClose={close}
        >
          {t('team.replaceLead', { hint: account.tokenHint ?? '' })}
        </AskDialog>
      );
    case 'end':
      return (
        <AskDialog
          open
          title={t('team.endTitle', { name })}
          go={t('team.endGo')}
          onGo={() => actions.end(account)}
          onClose={close}
        >
          {t('team.endLead')}
        </AskDialog>
      );
    case 'remove':
      return (
        <AskDialog
          open
          title={t('team.removeTitle', { name })}
          go={t('team.removeGo')}
          onGo={() => actions.remove(account)}
          onClose={close}
        >
          {t('team.removeLead')}
        </AskDialog>
      );
    case 'limits':
    case 'role':
      return null;
    default:
      return what satisfies never;
  }
}
