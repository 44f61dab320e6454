import { useTranslation } from 'react-i18next';
import { useApi } from '../../lib/api.ts';
import { Badge, Dot } from '../../ui/Badge.tsx';
import { Button } from '../../ui/Button.tsx';
import { Loaded, SkeletonRows } from '../../ui/States.tsx';
import { STATUS_TONES } from '../models/status.ts';

export function EndpointsStep({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const models = useApi('GET /api/console/models');
  return (
    <div className="flex flex-col gap-5">
      <p className="text-ink-2">{t('setup.endpointsLead')}</p>
      <Loaded query={models} skeleton={<SkeletonRows rows={6} />}>
        {({ endpoints, models: all }) => (
          <ul className="divide-y divide-line rounded-lg border border-line bg-surface">
            {endpoints.map((endpoint) => (
              <li key={endpoint.endpoint} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3">
                <Dot
                  tone={endpoint.unavailable ? 'neutral' : STATUS_TONES[endpoint.status]}
                  label={
                    endpoint.unavailable ? t('models.unavailable') : t(`models.status.${endpoint.status}`)
                  }
                />
                <span className="w-28 font-mono text-sm">{endpoint.endpoint}</span>
                <span className="min-w-0 flex-1 basis-44">
                  {endpoint.unavailable ? (
                    <span className="text-sm text-ink-3">{endpoint.unavailable}</span>
                  ) : (
                    endpoint.name
                  )}
                </span>
                <span className="flex flex-wrap gap-1">
                  {all
                    .filter((model) => model.endpoint === endpoint.endpoint)
                    .slice(0, 3)
                    .map((model) => (
                      <Badge key={model.model} mono>
                        {model.model}
                      </Badge>
                    ))}
                </span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <Button kind="primary" className="self-start" onClick={onDone}>
        {t('common.next')}
      </Button>
    </div>
  );
}
