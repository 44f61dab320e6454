import type { ReactNode } from 'react';
import type { UseQueryResult } from '@tanstack/react-query';
import RotateCw from 'lucide-react/icons/rotate-cw';
import type { ApiError } from '../lib/api.ts';
import { classes } from '../lib/classes.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Button } from './Button.tsx';

interface LoadedProps<Data> {
  readonly query: UseQueryResult<Data, ApiError>;
  readonly skeleton: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/** What a page shows while it waits, when it failed, and when it has its data. Old data stays while new data loads. */
export function Loaded<Data>({ query, skeleton, children }: LoadedProps<Data>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  return <Waiting>{skeleton}</Waiting>;
}

function Waiting({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t('common.loading')} className="flex flex-col gap-5">
      {children}
    </div>
  );
}

export function ErrorState({ error, onRetry }: { error: Error & { code?: string }; onRetry?: () => void }) {
  const { t } = useTranslation();
  return (
    <div role="alert" className="rounded-lg border border-bad-line bg-bad-soft px-6 py-8">
      <p className="font-semibold text-bad">{t('errors.title')}</p>
      <p className="mt-1 max-w-[60ch]">{error.code === 'network' ? t('errors.network') : error.message}</p>
      {onRetry ? (
        <Button reads small className="mt-4" icon={<RotateCw size={14} aria-hidden />} onClick={onRetry}>
          {t('common.retry')}
        </Button>
      ) : null}
    </div>
  );
}

interface EmptyProps {
  readonly title: ReactNode;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
  readonly compact?: boolean;
}

/** Nothing here yet, and what to do about it. */
export function Empty({ title, children, action, compact }: EmptyProps) {
  return (
    <div className={classes('flex flex-col items-center px-6 text-center', compact ? 'py-8' : 'py-14')}>
      <svg width="56" height="32" viewBox="0 0 56 32" fill="none" aria-hidden className="mb-4 text-ink-3">
        <path d="M2 30.5h52" stroke="currentColor" opacity=".4" />
        <path d="M12 30V13" stroke="currentColor" strokeWidth="3" strokeLinecap="round" />
        <path
          d="M12 13 44 4"
          stroke="currentColor"
          strokeWidth="2.4"
          strokeLinecap="round"
          strokeDasharray="5 5"
        />
      </svg>
      <p className="font-semibold">{title}</p>
      {children ? <div className="mt-1 max-w-[52ch] text-ink-3">{children}</div> : null}
      {action ? <div className="mt-4 flex flex-wrap justify-center gap-2">{action}</div> : null}
    </div>
  );
}

export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={classes('skeleton', className ?? 'h-4 w-full')} />;
}

export function SkeletonRows({ rows = 6 }: { rows?: number }) {
  return (
    <div aria-hidden className="divide-y divide-line rounded-lg border border-line bg-surface">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="flex items-center gap-6 px-5 py-3.5">
          <Skeleton className="h-3.5 w-32" />
          <Skeleton className="h-3.5 flex-1" />
          <Skeleton className="h-3.5 w-20" />
        </div>
      ))}
    </div>
  );
}

/** A line inside a form that went wrong, in the server's words if it said any. */
export function FormError({ error }: { error: (Error & { code?: string }) | null | undefined }) {
  const { t } = useTranslation();
  if (!error) return null;
  return (
    <p role="alert" className="rounded-md border border-bad-line bg-bad-soft px-3 py-2 text-sm text-bad">
      {error.code === 'network' ? t('errors.notSent') : error.message}
    </p>
  );
}
