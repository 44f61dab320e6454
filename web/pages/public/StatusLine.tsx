import type { EndpointItem } from '../../../src/console/contract.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Dot } from '../../ui/Badge.tsx';

/** One sentence on the health of everything; an endpoint that was never configured is not an outage. */
export function StatusLine({ endpoints }: { endpoints: readonly EndpointItem[] }) {
  const { t } = useTranslation();
  const served = endpoints.filter((endpoint) => endpoint.unavailable === null);
  const trouble = served.filter((endpoint) => endpoint.status !== 'up');
  const worst = trouble.some((endpoint) => endpoint.status === 'down') ? 'bad' : 'warn';
  return (
    <p className="inline-flex items-center gap-2 rounded-md border border-line bg-surface px-3 py-1.5 text-sm">
      <Dot tone={trouble.length > 0 ? worst : 'good'} label={t('public.statusTitle')} />
      {trouble.length > 0 ? (
        <>
          {t('public.someDown')}:{' '}
          <span className="font-mono">{trouble.map((endpoint) => endpoint.endpoint).join(', ')}</span>
        </>
      ) : (
        t('public.allUp')
      )}
    </p>
  );
}
