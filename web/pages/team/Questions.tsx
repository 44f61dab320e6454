import { useTranslation } from '../../lib/translation.tsx';
import { AskDialog } from '../../ui/Dialog.tsx';
import type { AccountActions } from './accountActions.ts';

/** What cannot be undone is asked about first, with its consequences. */
export function Questions({ actions }: { actions: AccountActions }) {
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
