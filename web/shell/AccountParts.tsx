import { useEffect } from 'react';
import { useLocation } from 'wouter';
import { useUser } from '../lib/session.ts';
import { useTranslation } from '../lib/translation.tsx';
import { chooseWallet, currentWallet, useWallet } from '../lib/wallet.ts';
import { Segments } from '../ui/Segments.tsx';
import { isTeamPage } from './navigation.ts';

// The parts around the account's pages that the administration does not have.
export { Banner } from './Banner.tsx';

/** Chooses whose balance pays and is shown, for a user who is in a team. */
export function WalletSwitch() {
  const { t } = useTranslation();
  const { team } = useUser();
  const { wallet } = useWallet();
  const [location, navigate] = useLocation();
  const isOfTeam = isTeamPage(location);
  useEffect(() => {
    // It may have been chosen before they left.
    if (!team && currentWallet() === 'team') chooseWallet('own');
  }, [team]);
  useEffect(() => {
    // A page of the own account is open, however it was reached: the switch says what is shown.
    if (!isOfTeam && wallet === 'team') chooseWallet('own');
  }, [isOfTeam, wallet]);
  if (!team) return null;
  return (
    <div className="px-3 pb-3">
      <Segments
        label={t('nav.wallet')}
        value={wallet}
        onChange={(next) => {
          chooseWallet(next);
          if (next === 'team' && !isOfTeam) navigate('/app/team');
        }}
        options={[
          { value: 'own', label: t('nav.toAccount') },
          { value: 'team', label: <span className="max-w-24 truncate">{team.name}</span>, title: team.name },
        ]}
      />
    </div>
  );
}
