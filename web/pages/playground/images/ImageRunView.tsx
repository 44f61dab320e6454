import CodeXml from 'lucide-react/icons/code-xml';
import Pencil from 'lucide-react/icons/pencil';
import Repeat from 'lucide-react/icons/repeat';
import { useEffect, useState } from 'react';
import type { PlaygroundReceipt } from '../../../lib/answers.ts';
import { formatDuration } from '../../../lib/numbers.ts';
import { publicOrigin } from '../../../lib/browser.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Code } from '../../../ui/Code.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Tabs } from '../../../ui/Tabs.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { Lightbox, type Picture } from '../../images/Lightbox.tsx';
import { DIALECTS, type Dialect } from '../asCode.ts';
import { imageAsCode } from './imageCode.ts';
import { editImage, repeatImage } from './imageDraft.ts';
import { isAccountsLimit } from '../refusal.ts';
import { RefusalNotice } from '../RefusalNotice.tsx';
import type { ImageRun, RunError } from './imageRuns.ts';
import type { ImageBody } from './order.ts';

interface RunViewProps {
  readonly run: ImageRun;
  /** Shown beside others, without what repeats or changes it. */
  readonly compact?: boolean;
}

/** One request for images: its progress, its result and its cost. */
export function ImageRunView({ run, compact = false }: RunViewProps) {
  const [open, setOpen] = useState<number>();
  return (
    <article aria-label={run.body.prompt} className="flex flex-col gap-3">
      <Pictures run={run} onOpen={setOpen} />
      {run.state === 'running' ? <Waiting run={run} /> : null}
      {run.error ? <Failure error={run.error} receipt={run.receipt} /> : null}
      {run.receipt && run.pictures.length > 0 ? <Charge receipt={run.receipt} /> : null}
      {compact ? null : (
        <>
          <Parameters run={run} />
          <RunActions run={run} />
        </>
      )}
      {open === undefined ? null : (
        <Lightbox pictures={run.pictures} index={open} onIndex={setOpen}>
          {(picture) => <EditButton picture={picture} onDone={() => setOpen(undefined)} />}
        </Lightbox>
      )}
    </article>
  );
}

function Pictures({ run, onOpen }: { run: ImageRun; onOpen: (index: number) => void }) {
  const { t } = useTranslation();
  const { pictures, state, preview, body } = run;
  const waiting = state === 'running' ? Math.max(0, Number(body['n'] ?? 1) - pictures.length) : 0;
  const isOne = pictures.length + waiting <= 1;
  if (pictures.length + waiting === 0) return null;
  const ratio = ratioOf(body);
  return (
    <ul className={isOne ? 'grid' : 'grid gap-3 sm:grid-cols-2'}>
      {pictures.map((picture, index) => (
        <li key={picture.key}>
          <button
            type="button"
            onClick={() => onOpen(index)}
            aria-label={t('images.open', { prompt: picture.prompt })}
            className="grid w-full place-items-center overflow-hidden rounded-lg border border-line bg-sunken transition-colors hover:border-field"
          >
            <img src={picture.src} alt="" className="max-h-[70dvh] max-w-full object-contain" />
          </button>
        </li>
      ))}
      {Array.from({ length: waiting }, (_, index) => (
        <li key={`waiting-${index}`} className="grid place-items-center overflow-hidden rounded-lg bg-sunken">
          {preview !== undefined && index === 0 ? (
            <img
              src={preview}
              alt={t('studio.preview')}
              className="max-h-[70dvh] max-w-full object-contain"
            />
          ) : (
            <svg viewBox={`0 0 ${ratio}`} aria-hidden className="skeleton block max-h-[70dvh] w-full" />
          )}
        </li>
      ))}
    </ul>
  );
}

/** Width and height of the placeholder for an image, so that nothing jumps when it arrives. */
function ratioOf({ size, aspect_ratio }: ImageBody): string {
  const [, width, height] = /^(\d+)[x:](\d+)$/.exec(String(size ?? aspect_ratio ?? '1x1')) ?? [];
  return `${width ?? 1} ${height ?? 1}`;
}

const TICK_MS = 1_000;

function Waiting({ run }: { run: ImageRun }) {
  const { t, i18n } = useTranslation();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const passed = Math.max(0, Math.floor((now - run.startedAt) / TICK_MS) * TICK_MS);
  return (
    <p role="status" className="text-sm text-ink-3 tabular-nums">
      {t('playground.generating')} <span aria-hidden>{formatDuration(passed, i18n.language)}</span>
    </p>
  );
}

/** What it cost, how long it took, and a link to the receipt. */
function Charge({ receipt }: { receipt: PlaygroundReceipt }) {
  const { t, i18n } = useTranslation();
  return (
    <p className="flex flex-wrap gap-x-3 text-sm text-ink-3 tabular-nums">
      <span>
        {t('studio.charged')}{' '}
        <Money usd={receipt.costUsd} kind="charge" plain className="font-medium text-ink-2" />
      </span>
      {receipt.durationMs === null ? null : <span>{formatDuration(receipt.durationMs, i18n.language)}</span>}
      <ReceiptLink id={receipt.requestId} />
    </p>
  );
}

function ReceiptLink({ id }: { id: string }) {
  const { t } = useTranslation();
  return (
    <Link href={`/app/requests?id=${id}`} className="text-accent underline-offset-2 hover:underline">
      {t('playground.receipt')}
    </Link>
  );
}

/** Why there are no images, and what was charged; a request that was never admitted is among the rejected ones. */
function Failure({ error, receipt }: { error: RunError; receipt: PlaygroundReceipt | undefined }) {
  const { t } = useTranslation();
  return (
    <div className="text-sm">
      <RefusalNotice error={error}>
        {receipt ? (
          <>
            <span className="text-ink-2">
              {t('studio.charged')} <Money usd={receipt.costUsd} kind="charge" plain />
            </span>
            <ReceiptLink id={receipt.requestId} />
          </>
        ) : null}
        {!receipt && error.status >= 400 && error.status < 500 && !isAccountsLimit(error) ? (
          <Link href="/app/refused" className="text-accent underline-offset-2 hover:underline">
            {t('studio.toRefused')}
          </Link>
        ) : null}
      </RefusalNotice>
    </div>
  );
}

function Parameters({ run }: { run: ImageRun }) {
  const { t } = useTranslation();
  const { endpoint, model: _, prompt, ...said } = run.body;
  return (
    <div className="rounded-lg border border-line bg-surface p-4 text-sm">
      <p className="break-words whitespace-pre-wrap">{prompt}</p>
      <dl className="mt-2 flex flex-wrap gap-x-5 gap-y-1">
        <Fact name={t('playground.model')} value={`${run.modelName} · ${endpoint}`} />
        {Object.entries(said).map(([name, value]) => (
          <Fact key={name} name={name} value={String(value)} isCode />
        ))}
        {run.references.length > 0 ? (
          <Fact name={t('studio.references')} value={String(run.references.length)} />
        ) : null}
      </dl>
    </div>
  );
}

function Fact({ name, value, isCode = false }: { name: string; value: string; isCode?: boolean }) {
  return (
    <div className="flex min-w-0 gap-1.5">
      <dt className={isCode ? 'font-mono text-xs leading-5 text-ink-3' : 'text-ink-3'}>{name}</dt>
      <dd className={isCode ? 'font-mono text-xs leading-5 break-all' : ''}>{value}</dd>
    </div>
  );
}

function RunActions({ run }: { run: ImageRun }) {
  const { t } = useTranslation();
  const [isCode, setCode] = useState(false);
  const [only] = run.pictures;
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        small
        icon={<Repeat size={14} aria-hidden />}
        onClick={() => repeatImage(run.body, { references: run.references, mask: run.mask })}
      >
        {t('studio.repeat')}
      </Button>
      {only && run.pictures.length === 1 ? <EditButton picture={only} /> : null}
      <Button small icon={<CodeXml size={14} aria-hidden />} onClick={() => setCode(true)}>
        {t('studio.copyRequest')}
      </Button>
      {isCode ? <ImageCodeDialog run={run} onClose={() => setCode(false)} /> : null}
    </div>
  );
}

export function EditButton({ picture, onDone }: { picture: Picture; onDone?: () => void }) {
  const { t } = useTranslation();
  const edit = async (): Promise<void> => {
    if (await editImage(picture.src, picture.prompt)) onDone?.();
    else toast(t('images.failed'), 'bad');
  };
  return (
    <Button small className="self-start" icon={<Pencil size={14} aria-hidden />} onClick={() => void edit()}>
      {t('studio.edit')}
    </Button>
  );
}

const DIALECT_NAMES = Object.keys(DIALECTS) as Dialect[];

function ImageCodeDialog({
  run,
  onClose,
}: {
  run: Pick<ImageRun, 'body' | 'references' | 'mask'>;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [dialect, setDialect] = useState<Dialect>('curl');
  const { body, references, mask } = run;
  const request = { body, pictures: references.length, hasMask: mask !== undefined };
  return (
    <Dialog open kind="wide" title={t('studio.codeTitle')} onClose={onClose}>
      <Tabs
        label={t('playground.code')}
        value={dialect}
        onChange={setDialect}
        tabs={DIALECT_NAMES.map((value) => ({ value, label: DIALECTS[value] }))}
      >
        <Code code={imageAsCode(dialect, publicOrigin(), request)} label={DIALECTS[dialect]} />
      </Tabs>
    </Dialog>
  );
}
