import { useState } from 'react';
import type { ItemOf } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call, useApi } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge } from '../../../ui/Badge.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { Changeable } from '../../../ui/Form.tsx';
import { FormError } from '../../../ui/States.tsx';
import { Time } from '../../../ui/Time.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { Changes } from '../catalog/PublishDraft.tsx';
import { READS_OF_CATALOG } from './draft.ts';

type Plan = ItemOf<'GET /api/console/admin/catalog/plans'>;

const REFRESH_MS = 30_000;

/** The plan that takes effect at a date, shown on every page that edits the catalog. */
export function PlannedChange() {
  const plans = useApi('GET /api/console/admin/catalog/plans', undefined, { refetchInterval: REFRESH_MS });
  const waiting = plans.data?.items.find(({ state }) => state === 'waiting');
  return waiting ? <Waiting plan={waiting} /> : null;
}

function Waiting({ plan }: { plan: Plan }) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const cancel = useAction(
    async () =>
      await call('POST /api/console/admin/catalog/plans/{id}/cancel', {
        params: { id: String(plan.id) },
        body: {},
      }),
    {
      refresh: READS_OF_CATALOG,
      refreshOnConflict: READS_OF_CATALOG,
      onDone: () => toast(t('plans.cancelled')),
    },
  );
  return (
    <section
      aria-label={t('plans.title')}
      className="flex flex-col gap-2 rounded-lg border border-warn-line bg-warn-soft px-5 py-3"
    >
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 basis-52">
          <span className="font-medium">
            {t('plans.waiting', { count: plan.changes.length })} <Time at={plan.from} style="full" />
          </span>{' '}
          <span className="text-sm text-ink-2">
            {t('catalog.by', { actor: plan.actor })}
            {plan.note === '' ? null : ` · ${plan.note}`}
          </span>
        </p>
        <Button onClick={() => setOpen(true)}>{t('plans.show')}</Button>
        <Changeable right="change_catalog">
          <Button busy={cancel.isPending} onClick={() => cancel.mutate()}>
            {t('plans.cancel')}
          </Button>
        </Changeable>
      </div>
      <FormError error={cancel.error} />
      <Dialog open={isOpen} kind="wide" title={t('plans.title')} onClose={() => setOpen(false)}>
        <Changes changes={plan.changes} />
      </Dialog>
    </section>
  );
}

/** Plans that took effect or were cancelled. */
export function PastPlans() {
  const { t } = useTranslation();
  const plans = useApi('GET /api/console/admin/catalog/plans');
  const past = plans.data?.items.filter(({ state }) => state !== 'waiting') ?? [];
  if (past.length === 0) return null;
  return (
    <Card title={t('plans.past')}>
      <ul className="-my-2 divide-y divide-line">
        {past.map((plan) => (
          <li key={plan.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
            <Time at={plan.from} style="full" />
            <Badge tone={plan.state === 'published' ? 'good' : 'warn'}>
              {plan.revision === null
                ? t('plans.wasCancelled')
                : t('plans.wasPublished', { revision: plan.revision })}
            </Badge>
            <span className="text-sm break-words text-ink-3">
              {t('plans.madeBy', { actor: plan.actor })} <Time at={plan.madeAt} style="full" />
              {plan.endedBy === null ? null : ` · ${t('plans.endedBy', { actor: plan.endedBy })}`}
              {plan.note === '' ? null : ` · ${plan.note}`}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
