import { useApi } from '../../lib/api.ts';
import { useFreshToken } from '../../lib/freshToken.ts';
import { approximate, formatUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { FormError } from '../../ui/States.tsx';
import { useCreateToken } from '../key/useCreateToken.ts';

/** What the account begins with, and the token for programs, which may wait. */
export function CreditStep() {
  const { t, i18n } = useTranslation();
  // Asked once: what the account began with stays true while the receipt says what is left.
  const overview = useApi('GET /api/console/overview', undefined, { staleTime: Infinity }).data;
  const token = useFreshToken();
  const create = useCreateToken(() => undefined);
  const credited = overview !== undefined && approximate(overview.balanceUsd) > 0;
  return (
    <div className="flex max-w-2xl flex-col gap-3">
      {overview ? (
        <p className="text-ink-2">
          {credited
            ? t('firstRun.creditLead', { amount: formatUsd(overview.balanceUsd, i18n.language) })
            : t('firstRun.noCredit')}
        </p>
      ) : null}
      {token === undefined ? (
        <div className="flex flex-wrap items-center gap-3">
          <Button small busy={create.isPending} onClick={() => create.mutate()}>
            {t('firstRun.tokenMake')}
          </Button>
          <p className="flex-1 basis-60 text-sm text-ink-3">
            {overview?.token
              ? t('firstRun.tokenKnown', { hint: overview.token.hint })
              : t('firstRun.tokenSkip')}
          </p>
        </div>
      ) : (
        <div className="flex flex-col gap-2">
          <p className="text-ink-2">{t('firstRun.tokenLead')}</p>
          <div className="flex flex-wrap items-center gap-3 rounded-md border border-accent bg-accent-soft p-3">
            <code data-testid="token" className="min-w-0 flex-1 basis-60 text-sm break-all select-all">
              {token}
            </code>
            <CopyButton text={token} kind="primary" />
          </div>
        </div>
      )}
      <FormError error={create.error} />
    </div>
  );
}
