import type { Answer } from '../../../src/console/contract/routes.ts';
import type { ModelItem } from '../../lib/answers.ts';
import { useApi } from '../../lib/api.ts';
import { formatShare, formatSpeed } from '../../lib/numbers.ts';
import { useSite } from '../../lib/session.ts';
import { formatUtcDay } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useWallet } from '../../lib/wallet.ts';
import { Card } from '../../ui/Card.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Price } from '../../ui/Money.tsx';
import { Loaded, Skeleton } from '../../ui/States.tsx';

type OfferFigures = Answer<'GET /api/console/figures'>;

/** How fast and reliable an offer is, for all customers together; the same as on its public page. */
export function ModelFigures({ model }: { model: ModelItem }) {
  const { t } = useTranslation();
  const site = useSite();
  const { wallet } = useWallet();
  const { endpoint, model: id } = model;
  const figures = useApi(
    'GET /api/console/figures',
    { query: { endpoint, model: id, wallet } },
    { staleTime: 60_000 },
  );
  return (
    <Card
      title={t('figures.title')}
      actions={
        site?.publicPages ? (
          <a href={publicHref(id)} className="text-sm text-accent underline-offset-2 hover:underline">
            {t('figures.publicPage')}
          </a>
        ) : null
      }
    >
      <Loaded query={figures} skeleton={<Skeleton className="h-44 w-full" />}>
        {(data) => (
          <div className="grid gap-x-10 gap-y-6 lg:grid-cols-2">
            <div className="min-w-0">
              <Speed model={model} figures={data} />
              <Typical model={model} figures={data} />
            </div>
            <Uptime figures={data} />
          </div>
        )}
      </Loaded>
    </Card>
  );
}

function Speed({ model, figures: { wait, speed } }: { model: ModelItem; figures: OfferFigures }) {
  const { t, i18n } = useTranslation();
  if (model.type === 'embedding' || model.type === 'moderation') return null;
  const isChat = model.type === 'chat_completion';
  const seconds = (ms: number): string =>
    t('figures.seconds', { value: formatSpeed(ms / 1000, i18n.language) });
  const rows = [
    { label: isChat ? t('figures.firstToken') : t('figures.imageReady'), found: wait, text: seconds },
    ...(isChat
      ? [
          {
            label: t('figures.tokensPerSecond'),
            found: speed,
            text: (value: number) => formatSpeed(value, i18n.language),
          },
        ]
      : []),
  ];
  return (
    <>
      <table className="w-full border-collapse">
        <thead>
          <tr>
            <td />
            <SpeedHead label={t('figures.half')} hint={t('figures.halfHint')} />
            <SpeedHead label={t('figures.most')} hint={t('figures.mostHint')} />
          </tr>
        </thead>
        <tbody>
          {rows.map(({ label, found, text }) => (
            <tr key={label}>
              <th scope="row" className="py-1 pr-4 text-left font-normal text-ink-2">
                {label}
              </th>
              {found ? (
                [found.p50, found.p95].map((value, place) => (
                  <td key={place === 0 ? 'p50' : 'p95'} className="py-1 pl-4 text-right tabular-nums">
                    {text(value)}
                  </td>
                ))
              ) : (
                <td colSpan={2} className="py-1 pl-4 text-right text-ink-3">
                  {t('figures.notMeasured')}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="mt-1 text-sm text-ink-3">{t('figures.lead')}</p>
    </>
  );
}

function SpeedHead({ label, hint }: { label: string; hint: string }) {
  return (
    <th scope="col" className="py-1 pl-4 text-right text-xs font-medium text-ink-3">
      <abbr title={hint} className="no-underline">
        {label}
      </abbr>
    </th>
  );
}

function Typical({ model, figures: { typicalUsd } }: { model: ModelItem; figures: OfferFigures }) {
  const { t } = useTranslation();
  if (typicalUsd === null || model.free) return null;
  return (
    <>
      <dl className="mt-4 border-t border-line pt-3">
        <LedgerLine
          label={t(`figures.typical.${model.type}`)}
          value={<Price usd={typicalUsd} />}
          className="text-lg"
        />
      </dl>
      <p className="mt-1 text-sm text-ink-3">{t(`figures.typicalHint.${model.type}`)}</p>
    </>
  );
}

const CELL = 4;
const HEIGHT = 28;
const NO_DAY = { fill: 'fill-line', top: 12 };
/** From best to worst: as on the public page, days differ in height as well as colour. */
const GRADES = [
  { least: 0.99, fill: 'fill-accent', top: 0 },
  { least: 0.95, fill: 'fill-warn', top: 6 },
  { least: 0, fill: 'fill-bad', top: 9 },
];

function Uptime({ figures: { uptime, days } }: { figures: OfferFigures }) {
  const { t, i18n } = useTranslation();
  const share = (value: number | null): string =>
    value === null ? t('figures.noRequests') : formatShare(value, i18n.language);
  const whole = uptime === null ? t('figures.notMeasured') : share(uptime);
  return (
    <div className="min-w-0">
      <h3 className="mb-2 text-sm font-medium text-ink-3">{t('figures.uptime')}</h3>
      <p className="mb-2 text-lg font-semibold tabular-nums">{whole}</p>
      <svg
        viewBox={`0 0 ${days.length * CELL} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={uptime === null ? whole : t('figures.strip', { share: whole })}
        className="h-7 w-full"
      >
        {days.map(({ day, uptime: value }, place) => {
          const grade = GRADES.find(({ least }) => value !== null && value >= least) ?? NO_DAY;
          return (
            <rect
              key={day}
              x={place * CELL}
              y={grade.top}
              width={CELL - 1}
              height={HEIGHT - grade.top}
              className={grade.fill}
            >
              <title>{`${formatUtcDay(day, i18n.language)}: ${share(value)}`}</title>
            </rect>
          );
        })}
      </svg>
      <p aria-hidden className="mt-1 flex justify-between text-xs text-ink-3">
        <span>{t('figures.daysAgo')}</span>
        <span>{t('figures.today')}</span>
      </p>
      <p className="mt-1 text-sm text-ink-3">{t('figures.uptimeLead')}</p>
    </div>
  );
}

/** The server decodes everything after `/models/`. */
function publicHref(model: string): string {
  return `/models/${encodeURIComponent(model)}`;
}
