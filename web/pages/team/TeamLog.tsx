import { useApi } from '../../lib/api.ts';
import { formatRelative, useNow } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { Loaded, Skeleton } from '../../ui/States.tsx';

const REFUSED = '.refused';

/** Who changed what, for the team's owners. */
export function TeamLog() {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const log = useApi('GET /api/console/team/log');
  const texts: Readonly<Record<string, string>> = t('team.logActions', { returnObjects: true });
  const words = (action: string): string => {
    const isRefused = action.endsWith(REFUSED);
    const done = isRefused ? action.slice(0, -REFUSED.length) : action;
    // From a newer server it may be one that this page does not know.
    const text = texts[done.replace('team.', '')] ?? done;
    return isRefused ? t('team.logRefused', { action: text }) : text;
  };
  return (
    <Card title={t('team.log')} hint={t('team.logHint')}>
      <Loaded query={log} skeleton={<Skeleton className="h-20 w-full" />}>
        {({ items }) => (
          <ul className="thin-scroll flex max-h-80 flex-col divide-y divide-line overflow-y-auto">
            {items.map(({ id, at, by, action, account, role }) => (
              <li key={id} className="flex flex-wrap items-baseline gap-x-3 py-1.5 text-sm">
                <span className="min-w-0 flex-1 basis-60">
                  <span className="font-medium">{by ?? t('team.logOperator')}</span> {words(action)}
                  {account === null ? null : <span className="text-ink-3"> · {account}</span>}
                  {role === null ? null : <span className="text-ink-3"> · {role}</span>}
                </span>
                <span className="text-ink-3">{formatRelative(at, now, i18n.language)}</span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
