import { Logo } from '../../ui/Logo.tsx';
import { publicOrigin } from '../../lib/origin.ts';
import { useTranslation } from '../../lib/translation.tsx';

/** Shown until this server has been set up, which only somebody who can read its output may begin. */
export function SetupNeeded() {
  const { t } = useTranslation();
  return (
    <main className="mx-auto flex min-h-dvh max-w-xl flex-col justify-center gap-5 px-6 py-16">
      <Logo />
      <h1 className="text-2xl font-semibold tracking-tight">{t('setup.neededTitle')}</h1>
      <p className="text-ink-2">{t('setup.neededLead')}</p>
      <code className="rounded-md border border-line bg-surface p-4 break-all">{publicOrigin()}/setup/…</code>
      <p className="text-ink-3">{t('setup.neededHint')}</p>
    </main>
  );
}
