import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useWallet } from '../../lib/wallet.ts';
import { AskDialog } from '../../ui/Dialog.tsx';
import { toast } from '../../ui/Toast.tsx';

/** The most images that one API request deletes. */
const TOGETHER = 200;

interface DeleteDialogProps {
  readonly ids: readonly string[];
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

export function DeleteDialog({ ids, open, onClose, onDeleted }: DeleteDialogProps) {
  const { t } = useTranslation();
  const { wallet } = useWallet();
  const remove = useAction(
    async () => {
      let count = 0;
      for (let at = 0; at < ids.length; at += TOGETHER) {
        const some = ids.slice(at, at + TOGETHER);
        const { deleted } = await call('POST /api/console/image-deletions', {
          query: { wallet },
          body: { ids: some },
        });
        count += deleted;
      }
      return count;
    },
    {
      refresh: ['GET /api/console/images', 'GET /api/console/image-facets'],
      onDone: (count) => {
        toast(t('gallery.deleted', { count }));
        onDeleted();
      },
    },
  );
  return (
    <AskDialog
      open={open}
      title={t('gallery.deleteTitle', { count: ids.length })}
      go={t('common.delete')}
      onGo={() => remove.mutate(undefined, { onError: ({ message }) => toast(message, 'bad') })}
      onClose={onClose}
    >
      {t('gallery.deleteLead')}
    </AskDialog>
  );
}
