import CircleCheck from 'lucide-react/icons/circle-check';
import type { AdminAttention } from '../../../../src/console/contract.ts';
import { useApi } from '../../../lib/api.ts';
import { useNow } from '../../../lib/now.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Dot } from '../../../ui/Badge.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Loaded, Skeleton } from '../../../ui/States.tsx';
import { sayAttention } from './attentionText.ts';

const REFRESH_MS = 15_000;

/** What should be looked at, each with the way to where it is solved. */
export function Attention() {
  const { t } = useTranslation();
  const attention = useApi('GET /api/console/admin/attention', undefined, { refetchInterval: REFRESH_MS });
  return (
    <Card flush title={t('attention.title')}>
      <Loaded query={attention} skeleton={<Skeleton className="mx-5 mb-5 h-12" />}>
        {(data) => (data.items.length === 0 ? <Nothing /> : <Items items={data.items} />)}
      </Loaded>
    </Card>
  );
}

function Nothing() {
  const { t } = useTranslation();
  return (
    <p className="flex items-center gap-2 px-5 pb-5 text-ink-2">
      <CircleCheck size={18} aria-hidden className="shrink-0 text-accent" />
      {t('attention.none')}
    </p>
  );
}

function Items({ items }: { items: AdminAttention['items'] }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  return (
    <ul className="divide-y divide-line border-t border-line">
      {items.map((item) => {
        const { text, link, href } = sayAttention(item, { t, language: i18n.language, now });
        return (
          <li key={text} className="flex items-start gap-3 px-5 py-2.5">
            <span className="mt-1 grid shrink-0">
              <Dot tone={item.urgency === 'high' ? 'bad' : 'warn'} label={t(`attention.${item.urgency}`)} />
            </span>
            <div className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-4 gap-y-0.5">
              <span className="min-w-0 flex-1 basis-72 break-words">{text}</span>
              <Link href={href} className="shrink-0 text-sm font-medium text-accent hover:underline">
                {t(`attention.links.${link}`)}
              </Link>
            </div>
          </li>
        );
      })}
    </ul>
  );
}
