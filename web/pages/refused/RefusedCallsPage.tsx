import { useTranslation } from 'react-i18next';
import { usePages } from '../../lib/pages.ts';
import { useSearchState } from '../../lib/search.ts';
import { Page } from '../../ui/Card.tsx';
import { refusedColumns } from './columns.tsx';
import { ownLink } from './reason.ts';
import { RefusedList } from './RefusedList.tsx';

export default function RefusedCallsPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const pages = usePages('GET /api/console/refused-calls', { query: { reason: state['reason'] } });
  const keptDays = pages.data?.pages[0]?.keptDays ?? KEPT_DAYS;
  return (
    <Page wide title={t('refused.title')} lead={t('refused.lead', { count: keptDays })}>
      <RefusedList
        pages={pages}
        rows={(pages.data?.pages ?? []).flatMap((page) => page.items)}
        columns={refusedColumns(t, ownLink)}
        label={t('refused.title')}
        reason={state['reason']}
        onReason={(reason) => change({ reason })}
      />
    </Page>
  );
}

/** Until the server has said it. */
const KEPT_DAYS = 7;
