import { useQuery } from '@tanstack/react-query';
import type { Answer } from '../../../src/console/contract/routes.ts';
import { call, type ApiError } from '../../lib/api.ts';
import { formatTime } from '../../lib/time.ts';
import { useTitle } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { PublicShell } from '../../shell/PublicShell.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/States.tsx';
import { ReceiptView } from './ReceiptView.tsx';

type SharedReceipt = Answer<'POST /api/console/shared-receipt'>;

/** The receipt that a link opens. Its code comes after the `#`, which browsers do not send. */
export default function SharedReceiptPage() {
  const { t, i18n } = useTranslation();
  useTitle(t('timeline.sharedTitle'));
  const code = location.hash.slice(1);
  const receipt = useQuery<SharedReceipt, ApiError>({
    queryKey: ['shared receipt', code],
    queryFn: async ({ signal }) => await call('POST /api/console/shared-receipt', { body: { code }, signal }),
    staleTime: Infinity,
    retry: false,
  });
  return (
    <PublicShell>
      <div className="mx-auto w-full max-w-[40rem] px-4 pt-6 pb-16 sm:px-8 sm:pt-8">
        <h1 className="text-xl font-semibold tracking-tight">{t('timeline.sharedTitle')}</h1>
        {receipt.error?.code === 'link_ended' ? (
          <Empty title={t('timeline.sharedEnded')}>{t('timeline.sharedEndedLead')}</Empty>
        ) : receipt.error?.code === 'not_found' || receipt.error?.status === 400 ? (
          <Empty title={t('timeline.sharedGone')}>{t('timeline.sharedGoneLead')}</Empty>
        ) : (
          <Loaded query={receipt} skeleton={<Skeleton className="mt-6 h-96 w-full" />}>
            {(data) => (
              <>
                <p className="mt-0.5 mb-6 text-ink-3">
                  {t('timeline.sharedLead', { time: formatTime(data.expiresAt, i18n.language, 'short') })}
                </p>
                <ReceiptView receipt={data} />
              </>
            )}
          </Loaded>
        )}
      </div>
    </PublicShell>
  );
}
