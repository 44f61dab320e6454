import CircleCheck from 'lucide-react/icons/circle-check';
import type { Quickstart } from '../../../src/console/contract.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Link } from '../../ui/Link.tsx';
import { Mark } from '../../ui/Logo.tsx';
import { Time } from '../../ui/Time.tsx';

/** Waits for the first request and turns green when it is there. */
export function Arrival({ first }: { first: Quickstart['firstRequest'] }) {
  const { t } = useTranslation();
  if (!first) {
    return (
      <div
        role="status"
        className="flex items-center gap-4 rounded-lg border border-dashed border-field px-5 py-4"
      >
        <Mark size={26} className="animate-breathe text-ink-3" />
        <div>
          <p className="font-medium">{t('quickstart.waiting')}</p>
          <p className="text-ink-3">{t('quickstart.waitingLead')}</p>
        </div>
      </div>
    );
  }
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-4 gap-y-2 rounded-lg border border-accent bg-accent-soft px-5 py-4"
    >
      <CircleCheck size={24} aria-hidden className="text-accent" />
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium text-accent">{t('quickstart.arrived')}</p>
        <p className="text-ink-2">
          {t('quickstart.arrivedLead', { model: first.model, endpoint: first.endpoint })} ·{' '}
          <Time at={first.at} style="relative" />
        </p>
      </div>
      <Link
        href={`/app/requests?id=${first.id}`}
        className="font-medium text-accent underline underline-offset-2"
      >
        {t('quickstart.receipt')}
      </Link>
    </div>
  );
}
