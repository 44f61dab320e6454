import type { BodyOf } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { toast } from '../../ui/Toast.tsx';

export function useSaveSettings() {
  const { t } = useTranslation();
  return useAction(
    async (patch: BodyOf<'PATCH /api/console/settings'>) =>
      await call('PATCH /api/console/settings', { body: patch }),
    {
      refresh: ['GET /api/console/settings', 'GET /api/console/session', 'GET /api/console/overview'],
      onDone: () => toast(t('common.saved')),
    },
  );
}
