import Download from 'lucide-react/icons/download';
import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { urlOf, useApi } from '../../lib/api.ts';
import { addUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Money } from '../../ui/Money.tsx';
import { Loaded, Skeleton } from '../../ui/States.tsx';

type Used = ItemOf<'GET /api/console/team/usage'>;

/** More than these are added up. */
const MOST_SHOWN = 5;

/** What cost most, by account and model. */
export function TeamUsage() {
  const { t } = useTranslation();
  const usage = useApi('GET /api/console/team/usage');
  return (
    <Card
      title={t('team.usage')}
      hint={t('team.usageHint')}
      actions={
        <a
          href={urlOf('GET /api/console/team/usage.csv')}
          download
          className="inline-flex h-8 items-center gap-2 rounded-md border border-line bg-surface px-3 text-sm font-medium hover:bg-hover"
        >
          <Download size={14} aria-hidden />
          {t('requests.export')}
        </a>
      }
    >
      <Loaded query={usage} skeleton={<Skeleton className="h-20 w-full" />}>
        {({ items }) =>
          items.length === 0 ? <p className="text-ink-3">{t('team.usageNone')}</p> : <Lines items={items} />
        }
      </Loaded>
    </Card>
  );
}

function Lines({ items }: { items: readonly Used[] }) {
  const { t } = useTranslation();
  const others = items.slice(MOST_SHOWN);
  return (
    <dl className="flex flex-col gap-1.5">
      {items.slice(0, MOST_SHOWN).map((item) => (
        <LedgerLine
          key={`${item.account} ${item.endpoint} ${item.model}`}
          label={`${item.name} · ${item.model}`}
          value={<Money usd={item.chargedUsd} />}
        />
      ))}
      {others.length > 0 ? (
        <LedgerLine
          label={t('team.usageMore')}
          value={<Money usd={others.reduce((sum, { chargedUsd }) => addUsd(sum, chargedUsd), '0.00')} />}
        />
      ) : null}
    </dl>
  );
}
