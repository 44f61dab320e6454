import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { Answer, ItemOf } from '../../../../src/console/contract/routes.ts';
import { useApi } from '../../../lib/api.ts';
import { formatDuration } from '../../../lib/numbers.ts';
import { refreshReads } from '../../../lib/query.ts';
import { readStored, writeStored } from '../../../lib/storage.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { useWallet } from '../../../lib/wallet.ts';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Lightbox } from '../../images/Lightbox.tsx';
import { CHANGED_BY_IMAGES } from './imageRuns.ts';
import { EditButton } from './ImageRunView.tsx';

type ImageJobItem = ItemOf<'GET /api/console/image-jobs'>;
type ImageJobList = Answer<'GET /api/console/image-jobs'>;

const POLL_MS = 1_500;
const TICK_MS = 1_000;
const SEEN = 'tollgate.imageJobsSeen';

/** Image requests in the background. The server keeps them: a reload, another page or another device finds them. */
export function ImageJobs() {
  const { t } = useTranslation();
  const jobs = useImageJobs();
  const [seen, setSeen] = useState(() => Number(readStored(SEEN) ?? 0));
  const shown = jobs.data?.items.filter(({ endedAt }) => endedAt === null || endedAt > seen) ?? [];
  if (!jobs.data || shown.length === 0) return null;
  const lastEnd = Math.max(0, ...shown.map(({ endedAt }) => endedAt ?? 0));
  return (
    <Card
      title={t('studio.jobs')}
      actions={
        lastEnd > 0 ? (
          <Button
            small
            kind="ghost"
            onClick={() => {
              writeStored(SEEN, String(lastEnd));
              setSeen(lastEnd);
            }}
          >
            {t('studio.hideEnded')}
          </Button>
        ) : null
      }
    >
      <ul className="flex flex-col divide-y divide-line">
        {shown.map((job) => (
          <JobRow key={job.id} job={job} list={jobs.data} receivedAt={jobs.dataUpdatedAt} />
        ))}
      </ul>
    </Card>
  );
}

/** Polls while a job runs; when one has ended, its images are in the gallery and its charge on the account. */
function useImageJobs() {
  const client = useQueryClient();
  const query = { wallet: useWallet().wallet };
  const latest = client.getQueryData<ImageJobList>(['GET /api/console/image-jobs', { query }]);
  const isRunning = latest?.items.some(({ endedAt }) => endedAt === null);
  const jobs = useApi(
    'GET /api/console/image-jobs',
    { query },
    { refetchInterval: isRunning ? POLL_MS : false },
  );
  const running = jobs.data?.items.filter(({ endedAt }) => endedAt === null).length ?? 0;
  const before = useRef(running);
  useEffect(() => {
    if (running < before.current) void refreshReads(client, CHANGED_BY_IMAGES);
    before.current = running;
  }, [running, client]);
  return jobs;
}

interface JobRowProps {
  readonly job: ImageJobItem;
  readonly list: ImageJobList;
  readonly receivedAt: number;
}

function JobRow({ job, list, receivedAt }: JobRowProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<number>();
  const pictures = job.images.map((image) => ({ ...image, key: image.id }));
  return (
    <li aria-label={job.prompt ?? job.id} className="flex flex-col gap-2 py-3 first:pt-0 last:pb-0">
      <p className="flex flex-wrap items-baseline gap-x-3 text-sm">
        <span className={job.state === 'failed' ? 'font-medium text-bad' : 'font-medium'}>
          {t(`studio.state.${job.state}`)}
        </span>
        <span className="min-w-0 flex-1 truncate">{job.prompt ?? job.model}</span>
        <span className="text-ink-3">{job.model}</span>
      </p>
      {job.endedAt === null ? <Progress job={job} list={list} receivedAt={receivedAt} /> : null}
      {job.error === null ? null : <p className="text-sm break-words text-bad">{job.error}</p>}
      {pictures.length === 0 ? null : (
        <ul className="flex flex-wrap gap-2">
          {pictures.map((picture, index) => (
            <li key={picture.key}>
              <button
                type="button"
                onClick={() => setOpen(index)}
                aria-label={t('images.open', { prompt: picture.prompt })}
                className="block size-28 overflow-hidden rounded-md border border-line bg-sunken hover:border-field"
              >
                <img src={picture.thumbnail} alt="" className="size-full object-cover" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {job.chargedUsd === null ? null : (
        <p className="flex gap-3 text-sm text-ink-3">
          <span>
            {t('studio.charged')} <Money usd={job.chargedUsd} kind="charge" plain className="text-ink-2" />
          </span>
          <Link
            href={`/app/requests?id=${job.id}`}
            className="text-accent underline-offset-2 hover:underline"
          >
            {t('playground.receipt')}
          </Link>
        </p>
      )}
      {open === undefined ? null : (
        <Lightbox pictures={pictures} index={open} onIndex={setOpen}>
          {(picture) => <EditButton picture={picture} onDone={() => setOpen(undefined)} />}
        </Lightbox>
      )}
    </li>
  );
}

/** How long it has run, compared with the model's usual time. The bar stops short of the end until it is done. */
function Progress({ job, list, receivedAt }: JobRowProps) {
  const { t, i18n } = useTranslation();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const passed = Math.max(0, list.now - job.createdAt + (now - receivedAt));
  const whole = formatDuration(Math.floor(passed / TICK_MS) * TICK_MS, i18n.language);
  const { typicalMs } = job;
  return (
    <div className="flex items-center gap-3 text-sm text-ink-3 tabular-nums">
      <progress
        aria-label={t('studio.progress')}
        className="h-1.5 w-40 accent-accent"
        {...(typicalMs === null ? {} : { value: Math.min(0.95, passed / Math.max(1, typicalMs)), max: 1 })}
      />
      <span>
        {typicalMs === null
          ? whole
          : t('studio.passed', { passed: whole, typical: formatDuration(typicalMs, i18n.language) })}
      </span>
    </div>
  );
}
