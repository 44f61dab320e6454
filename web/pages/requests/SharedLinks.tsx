import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { call, useApi } from '../../lib/api.ts';
import { formatTime } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Link } from '../../ui/Link.tsx';
import { FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';

type KeptReceiptLink = ItemOf<'GET /api/console/receipt-links'>;

interface SharedLinksProps {
  readonly requestId: string;
  readonly onEnded: (id: string) => void;
}

/** The owner's links to this receipt and, folded away, those to other receipts. */
export function SharedLinks({ requestId, onEnded }: SharedLinksProps) {
  const { t } = useTranslation();
  const links = useApi('GET /api/console/receipt-links');
  const items = links.data?.items ?? [];
  const own = items.filter((link) => link.requestId === requestId);
  const others = items.filter((link) => link.requestId !== requestId);
  return (
    <>
      <FormError error={links.error} />
      {own.length > 0 ? (
        <section aria-label={t('timeline.links')}>
          <h3 className="text-sm font-medium text-ink-2">{t('timeline.links')}</h3>
          <LinkList links={own} onEnded={onEnded} />
        </section>
      ) : null}
      {others.length > 0 ? (
        <details>
          <summary className="text-sm text-ink-2">
            {t('timeline.otherLinks', { count: others.length })}
          </summary>
          <LinkList links={others} onEnded={onEnded} named />
        </details>
      ) : null}
    </>
  );
}

interface LinkListProps extends Pick<SharedLinksProps, 'onEnded'> {
  readonly links: readonly KeptReceiptLink[];
  readonly named?: boolean;
}

function LinkList({ links, onEnded, named = false }: LinkListProps) {
  return (
    <ul className="divide-y divide-line">
      {links.map((link) => (
        <LinkLine key={link.id} link={link} named={named} onEnded={() => onEnded(link.id)} />
      ))}
    </ul>
  );
}

interface LinkLineProps {
  readonly link: KeptReceiptLink;
  readonly named: boolean;
  readonly onEnded: () => void;
}

function LinkLine({ link, named, onEnded }: LinkLineProps) {
  const { t, i18n } = useTranslation();
  const time = (at: number): string => formatTime(at, i18n.language, 'short');
  const end = useAction(() => call('DELETE /api/console/receipt-links/{id}', { params: { id: link.id } }), {
    refresh: ['GET /api/console/receipt-links'],
    onDone: () => {
      onEnded();
      toast(t('timeline.linkEnded'));
    },
  });
  const made = time(link.createdAt);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2 text-sm">
      <div className="min-w-0 flex-1">
        {named ? (
          <Link
            href={`/app/requests?id=${link.requestId}`}
            className="block truncate font-mono text-accent underline-offset-2 hover:underline"
          >
            {link.requestId}
          </Link>
        ) : null}
        <p className={link.endedAt === null ? '' : 'text-ink-3'}>
          {t('timeline.linkMade', { time: made })}
          {', '}
          {link.endedAt === null
            ? t('timeline.linkUntil', { time: time(link.expiresAt) })
            : t('timeline.linkEndedAt', { time: time(link.endedAt) })}
        </p>
        <FormError error={end.error} />
      </div>
      {link.endedAt === null ? (
        <Button
          small
          busy={end.isPending}
          aria-label={t('timeline.endLinkOf', { time: made })}
          onClick={() => end.mutate()}
        >
          {t('timeline.endLink')}
        </Button>
      ) : null}
    </li>
  );
}
