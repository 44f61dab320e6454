import type { ModelItem } from '../../../src/console/contract.ts';
import { daysBetween } from '../../charts/usageBars.ts';
import { Sparkline } from '../../charts/Sparkline.tsx';
import { useApi } from '../../lib/api.ts';
import { approximate, formatUsd } from '../../lib/money.ts';
import { hrefWith } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { Link } from '../../ui/Link.tsx';
import { Loaded, Skeleton } from '../../ui/States.tsx';

/** How much this account used the model lately, as a line of requests per day. */
export function ModelUse({ model }: { model: ModelItem }) {
  const { t, i18n } = useTranslation();
  const query = { endpoint: model.endpoint, model: model.model };
  const usage = useApi('GET /api/console/usage', { query }, { staleTime: 60_000 });
  return (
    <Card
      title={t('models.yourUse')}
      actions={
        <Link
          href={hrefWith('/app/requests', { endpoint: model.endpoint, model: model.model })}
          className="text-sm text-accent underline-offset-2 hover:underline"
        >
          {t('models.log')}
        </Link>
      }
    >
      <Loaded query={usage} skeleton={<Skeleton className="h-10 w-full" />}>
        {({ rows: own, from, to }) => {
          if (own.length === 0) return <p className="text-ink-3">{t('models.yourUseNone')}</p>;
          const count = own.reduce((sum, row) => sum + row.requests, 0);
          const spent = own.reduce((sum, row) => sum + approximate(row.chargedUsd), 0);
          const line = t('models.yourUseLine', {
            count,
            spent: formatUsd(spent.toFixed(9), i18n.language),
          });
          const values = daysBetween(from, to).map(
            (day) => own.find((row) => row.day === day)?.requests ?? 0,
          );
          return (
            <>
              <p className="mb-2 tabular-nums">{line}</p>
              <Sparkline values={values} label={line} height={48} />
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}
