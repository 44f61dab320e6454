import { useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import Pencil from 'lucide-react/icons/pencil';
import Receipt from 'lucide-react/icons/receipt';
import Repeat from 'lucide-react/icons/repeat';
import Trash from 'lucide-react/icons/trash-2';
import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { formatBytes } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button, LinkButton } from '../../ui/Button.tsx';
import { Time } from '../../ui/Time.tsx';
import { toast } from '../../ui/Toast.tsx';
import { editImage, repeatImage } from '../playground/images/imageDraft.ts';
import { DeleteDialog } from './DeleteDialog.tsx';

type ImageItem = ItemOf<'GET /api/console/images'>;

const MAKE = '/app/playground?tab=images';
/** Shown with the image itself. */
const SHOWN_APART = new Set(['size']);

/** Everything known about an image, and what can be done with it. */
export function ImageDetails({ image, onDeleted }: { image: ImageItem; onDeleted: () => void }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const [isAsking, setAsking] = useState(false);
  const { endpoint, model } = image;
  const repeat = (): void => {
    repeatImage({ ...image.parameters, endpoint: endpoint ?? '', model: model ?? '', prompt: image.prompt });
    navigate(MAKE);
  };
  const edit = async (): Promise<void> => {
    if (await editImage(image.src, image.prompt)) navigate(MAKE);
    else toast(t('images.failed'), 'bad');
  };
  return (
    <>
      <Facts image={image} />
      <div className="flex flex-wrap gap-2">
        {model === null ? null : (
          <Button small icon={<Repeat size={14} aria-hidden />} onClick={repeat}>
            {t('studio.repeat')}
          </Button>
        )}
        <Button small icon={<Pencil size={14} aria-hidden />} onClick={() => void edit()}>
          {t('studio.edit')}
        </Button>
        <LinkButton
          small
          icon={<Receipt size={14} aria-hidden />}
          href={`/app/requests?id=${encodeURIComponent(image.requestId)}`}
        >
          {t('gallery.receipt')}
        </LinkButton>
        <Button
          small
          kind="ghost"
          className="text-bad"
          icon={<Trash size={14} aria-hidden />}
          onClick={() => setAsking(true)}
        >
          {t('common.delete')}
        </Button>
      </div>
      <DeleteDialog ids={[image.id]} open={isAsking} onClose={() => setAsking(false)} onDeleted={onDeleted} />
    </>
  );
}

function Facts({ image }: { image: ImageItem }) {
  const { t, i18n } = useTranslation();
  const rows: [name: string, value: ReactNode][] = [
    ...(image.model === null
      ? []
      : [
          [t('gallery.model'), [image.model, image.endpoint].filter(Boolean).join(' · ')] as [string, string],
        ]),
    ...(image.width === null
      ? []
      : [[t('gallery.pixels'), `${image.width} × ${image.height}`] as [string, string]]),
    [t('gallery.file'), `${image.mime}, ${formatBytes(image.bytes, i18n.language)}`],
    [t('images.created'), <Time key="at" at={image.at} style="relative" />],
    [t('images.expires'), <Time key="expires" at={image.expiresAt} style="relative" />],
    ...Object.entries(image.parameters)
      .filter(([name]) => !SHOWN_APART.has(name))
      .map(([name, value]): [string, string] => [name, String(value)]),
  ];
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm">
      {rows.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-ink-3">{name}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
