import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { ImageItem } from '../../../src/console/contract.ts';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { formatBytes } from '../../lib/numbers.ts';
import { usePages } from '../../lib/pages.ts';
import { AskDialog } from '../../ui/AskDialog.tsx';
import { Button, LinkButton } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Empty, ErrorState, FormError, Skeleton } from '../../ui/States.tsx';
import { Time } from '../../ui/Time.tsx';
import { toast } from '../../ui/Toast.tsx';
import { Lightbox } from './Lightbox.tsx';
import { PictureGrid } from './PictureGrid.tsx';

function keyed(item: ImageItem): ImageItem & { key: string } {
  return { ...item, key: item.id };
}

const MAKE = '/app/playground?tab=images';

export default function ImagesPage() {
  const { t, i18n } = useTranslation();
  const pages = usePages('GET /api/console/images', { limit: 24 });
  const [index, setIndex] = useState<number>();
  const room = pages.data?.pages[0];
  const pictures = pages.data?.pages.flatMap((page) => page.items.map(keyed)) ?? [];
  return (
    <Page
      wide
      title={t('images.title')}
      lead={t('images.lead')}
      actions={
        <LinkButton kind="primary" small href={MAKE}>
          {t('images.make')}
        </LinkButton>
      }
    >
      {pages.error && !pages.data ? (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
      ) : null}
      {pages.isPending ? <Bones /> : null}
      {pages.data && pictures.length === 0 ? (
        <Card>
          <Empty title={t('images.empty')} action={<LinkButton href={MAKE}>{t('images.make')}</LinkButton>}>
            {t('images.emptyLead')}
          </Empty>
        </Card>
      ) : null}
      {room ? (
        <p className="mb-4 text-sm text-ink-3">
          {t('images.room', {
            used: formatBytes(room.usedBytes, i18n.language),
            quota: formatBytes(room.quotaBytes, i18n.language),
          })}
        </p>
      ) : null}
      <PictureGrid pictures={pictures} onOpen={setIndex} />
      <Pager pages={pages} />
      {index === undefined ? null : (
        <Lightbox pictures={pictures} index={index} onIndex={setIndex}>
          {(picture) => <Details picture={picture} onDeleted={() => setIndex(undefined)} />}
        </Lightbox>
      )}
    </Page>
  );
}

function Details({ picture, onDeleted }: { picture: ImageItem; onDeleted: () => void }) {
  const { t, i18n } = useTranslation();
  const [asking, setAsking] = useState(false);
  const remove = useAction(
    async () => await call('DELETE /api/console/images/{id}', { params: { id: picture.id } }),
    {
      refresh: ['GET /api/console/images'],
      onDone: () => {
        toast(t('images.deleted'));
        onDeleted();
      },
    },
  );
  return (
    <>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5 text-sm">
        <dt className="text-ink-3">{t('images.created')}</dt>
        <dd>
          <Time at={picture.at} style="relative" />
        </dd>
        <dt className="text-ink-3">{t('images.expires')}</dt>
        <dd>
          <Time at={picture.expiresAt} style="relative" />
        </dd>
        <dt className="text-ink-3">{t('images.size')}</dt>
        <dd>
          {picture.mime}, {formatBytes(picture.bytes, i18n.language)}
        </dd>
        <dt className="text-ink-3">{t('images.request')}</dt>
        <dd className="min-w-0">
          <Link
            href={`/app/requests?id=${picture.requestId}`}
            className="block truncate font-mono text-xs leading-5 text-accent hover:underline"
          >
            {picture.requestId}
          </Link>
        </dd>
      </dl>
      <FormError error={remove.error} />
      <Button
        small
        kind="ghost"
        className="self-start text-bad"
        busy={remove.isPending}
        onClick={() => setAsking(true)}
      >
        {t('common.delete')}
      </Button>
      <AskDialog
        open={asking}
        title={t('images.deleteTitle')}
        go={t('common.delete')}
        onGo={() => remove.mutate()}
        onClose={() => setAsking(false)}
      >
        {t('images.deleteLead')}
      </AskDialog>
    </>
  );
}

function Bones() {
  return (
    <div className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-4">
      {Array.from({ length: 8 }, (_, index) => (
        <Skeleton key={index} className="aspect-square w-full rounded-lg" />
      ))}
    </div>
  );
}
