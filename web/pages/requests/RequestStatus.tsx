import type { RequestOutcome } from '../../../src/console/contract.ts';
import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Badge, type Tone } from '../../ui/Badge.tsx';

const TONES: Record<Exclude<RequestOutcome, 'completed'>, Tone> = {
  client_left: 'neutral',
  upstream_failed: 'bad',
  cut_short: 'warn',
  expired: 'warn',
  shed: 'bad',
};

export function RequestStatus({
  request,
}: {
  request: Pick<ItemOf<'GET /api/console/requests'>, 'state' | 'outcome' | 'errorCode'>;
}) {
  const { t } = useTranslation();
  if (request.state === 'pending') {
    return (
      <Badge>
        <span aria-hidden className="size-1.5 animate-breathe rounded-full bg-accent" />
        {t('requests.states.pending')}
      </Badge>
    );
  }
  const { outcome } = request;
  if (!outcome)
    return (
      <Badge>{t(request.state === 'expired' ? 'requests.states.expired' : 'requests.states.void')}</Badge>
    );
  // Most requests complete, so only the others stand out.
  if (outcome === 'completed') {
    return (
      <span className="inline-flex items-center gap-1.5 whitespace-nowrap text-ink-2">
        <span aria-hidden className="size-1.5 rounded-full bg-accent" />
        {t('requests.states.completed')}
      </span>
    );
  }
  return (
    <span title={request.errorCode ?? undefined}>
      <Badge tone={TONES[outcome]}>{t(`requests.states.${outcome}`)}</Badge>
    </span>
  );
}
