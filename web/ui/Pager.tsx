import type { ReactNode } from 'react';
import { useTranslation } from '../lib/translation.tsx';
import { Button } from './Button.tsx';

interface PagerProps {
  readonly pages: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
  readonly note?: ReactNode;
}

interface ShowMoreProps {
  readonly showMore: (() => void) | undefined;
  readonly beyond: number;
  /** The list has a search, which finds what is not shown. */
  readonly isSearched?: boolean;
}

/** For a list that is loaded as a whole, of which the first rows are shown. */
export function ShowMore({ showMore, beyond, isSearched = false }: ShowMoreProps) {
  const { t } = useTranslation();
  if (!showMore && beyond === 0) return null;
  return (
    <div className="flex flex-wrap items-center justify-center gap-3 border-t border-line px-5 py-3">
      {showMore ? (
        <Button reads small onClick={showMore}>
          {t('common.more')}
        </Button>
      ) : (
        <span className="text-sm text-ink-3">
          {t(isSearched ? 'common.refine' : 'common.notShown', { count: beyond })}
        </span>
      )}
    </div>
  );
}

export function Pager({ pages, note }: PagerProps) {
  const { t } = useTranslation();
  if (!pages.hasNextPage) return null;
  return (
    <div className="flex flex-wrap items-center justify-center gap-3 border-t border-line px-5 py-3">
      {note ? <span className="text-sm text-ink-3">{note}</span> : null}
      <Button reads small busy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
        {t('common.more')}
      </Button>
    </div>
  );
}
