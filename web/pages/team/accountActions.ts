import { useState } from 'react';
import { useAction } from '../../lib/action.ts';
import { call, type ApiError } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { toast } from '../../ui/Toast.tsx';
import type { MadeToken } from './AppToken.tsx';
import { TEAM_READS, type Team, type TeamAccount } from './team.ts';

type What = 'limits' | 'role' | 'replace' | 'end' | 'remove';

interface ActionItem {
  readonly id: string;
  readonly label: string;
  readonly onSelect: () => void;
  readonly danger?: boolean;
}

/** The actions on a team's accounts, and the one that is being asked about. */
export interface AccountActions {
  readonly chosen: { readonly what: What; readonly account: TeamAccount } | undefined;
  readonly close: () => void;
  readonly error: ApiError | null;
  readonly itemsFor: (account: TeamAccount) => readonly ActionItem[];
  readonly replaceToken: (account: TeamAccount) => void;
  readonly end: (account: TeamAccount) => void;
  readonly remove: (account: TeamAccount) => void;
}

export function useAccountActions(team: Team, onToken: (made: MadeToken) => void): AccountActions {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState<AccountActions['chosen']>();
  const replace = useAction(
    async ({ id }: TeamAccount) =>
      await call('POST /api/console/team/apps/{id}/replace-token', { params: { id }, body: {} }),
    {
      refresh: TEAM_READS,
      onDone: ({ token, app }) => onToken({ token, name: app.name, models: app.limits.models }),
    },
  );
  const act = useAction(async ({ run, done }: Act) => ({ done, result: await run() }), {
    refresh: TEAM_READS,
    onDone: ({ done }) => toast(done),
  });
  const setPaused = (account: TeamAccount, isPaused: boolean): void => {
    const name = isPaused ? 'pause' : 'resume';
    act.mutate({
      run: async () =>
        await call(`POST /api/console/team/apps/{id}/${name}`, { params: { id: account.id }, body: {} }),
      done: t(isPaused ? 'team.paused' : 'team.resumed', { name: account.name }),
    });
  };
  const choose = (what: What, account: TeamAccount) => () => setChosen({ what, account });
  return {
    chosen,
    close: () => setChosen(undefined),
    error: replace.error ?? act.error,
    itemsFor: (account) => {
      const limits = {
        id: 'limits',
        label: t('team.changeLimits'),
        onSelect: choose('limits', account),
      };
      if (account.kind === 'app') {
        const isPaused = account.state === 'paused';
        return [
          limits,
          { id: 'replace', label: t('team.replaceToken'), onSelect: choose('replace', account) },
          {
            id: 'pause',
            label: t(isPaused ? 'team.resume' : 'team.pause'),
            onSelect: () => setPaused(account, !isPaused),
          },
          { id: 'end', label: t('team.end'), onSelect: choose('end', account), danger: true },
        ];
      }
      if (account.role === 'owner' && !team.rights.includes('change_owners')) return [];
      const others = [limits, { id: 'role', label: t('team.changeRole'), onSelect: choose('role', account) }];
      return account.id === team.ownId
        ? others
        : [
            ...others,
            { id: 'remove', label: t('team.remove'), onSelect: choose('remove', account), danger: true },
          ];
    },
    replaceToken: (account) => replace.mutate(account),
    end: ({ id, name }) =>
      act.mutate({
        run: async () => await call('POST /api/console/team/apps/{id}/end', { params: { id }, body: {} }),
        done: t('team.ended', { name }),
      }),
    remove: ({ id, name }) =>
      act.mutate({
        run: async () =>
          await call('POST /api/console/team/members/{id}/remove', { params: { id }, body: {} }),
        done: t('team.removed', { name }),
      }),
  };
}

interface Act {
  readonly run: () => Promise<unknown>;
  /** The message once it is done. */
  readonly done: string;
}
