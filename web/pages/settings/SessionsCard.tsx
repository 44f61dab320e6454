import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { call, useApi } from '../../lib/api.ts';
import { formatRelative, useNow } from '../../lib/time.ts';
import { leaveAll } from '../../lib/query.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Badge } from '../../ui/Badge.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { FormError, Loaded, Skeleton } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { shortClient } from '../requests/client.ts';

type SessionItem = ItemOf<'GET /api/console/sessions'>;

export function SessionsCard() {
  const { t } = useTranslation();
  const sessions = useApi('GET /api/console/sessions');
  const others = useAction(async () => await call('POST /api/auth/revoke-other-sessions'), {
    refresh: ['GET /api/console/sessions'],
    onDone: () => toast(t('settings.othersEnded')),
  });
  const all = useAction(async () => await call('POST /api/auth/revoke-sessions'), {
    onDone: leaveAll,
  });
  return (
    <Card title={t('settings.sessions')}>
      <Loaded query={sessions} skeleton={<Skeleton className="h-24 w-full" />}>
        {({ items }) => (
          <>
            <ul className="-mt-2 divide-y divide-line">
              {items.map((item) => (
                <SessionLine key={item.id} item={item} />
              ))}
            </ul>
            <div className="mt-3 flex flex-wrap gap-2">
              {items.length > 1 ? (
                <Button small busy={others.isPending} onClick={() => others.mutate()}>
                  {t('settings.endOthers')}
                </Button>
              ) : null}
              <Button small kind="ghost" busy={all.isPending} onClick={() => all.mutate()}>
                {t('settings.endAll')}
              </Button>
            </div>
            <FormError error={others.error ?? all.error} />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function SessionLine({ item }: { item: SessionItem }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const end = useAction(
    async () => await call('DELETE /api/console/sessions/{id}', { params: { id: item.id } }),
    {
      refresh: ['GET /api/console/sessions'],
      onDone: () => toast(t('settings.ended')),
    },
  );
  return (
    <li className="flex items-center gap-3 py-3">
      <div className="min-w-0 flex-1">
        <p className="truncate" title={item.userAgent ?? undefined}>
          {item.userAgent ? shortClient(item.userAgent) : t('settings.unknownDevice')}
        </p>
        <p className="text-sm text-ink-3">
          {item.address ? `${item.address} · ` : ''}
          {t('settings.lastSeen', { when: formatRelative(item.updatedAt, now, i18n.language) })}
        </p>
      </div>
      {item.current ? (
        <Badge tone="good">{t('settings.thisDevice')}</Badge>
      ) : (
        <Button small kind="ghost" busy={end.isPending} onClick={() => end.mutate()}>
          {t('settings.end')}
        </Button>
      )}
    </li>
  );
}
