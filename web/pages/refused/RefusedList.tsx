import type { ReactNode } from 'react';
import type { Answer, ItemOf } from '../../../src/console/contract/routes.ts';
import type { TableState } from '../../lib/table.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { Empty } from '../../ui/States.tsx';
import type { Column } from '../../ui/Table.tsx';
import { TableFilter, TableFilters } from '../../ui/TableFilters.tsx';
import { TableList, useBlank, type TablePages } from '../../ui/TableList.tsx';
import { knownReason } from './reason.ts';

interface RefusedPages<Row> extends TablePages<Row> {
  readonly data:
    | {
        readonly pages: readonly (Omit<Answer<'GET /api/console/refused-calls'>, 'items'> & {
          readonly items: Row[];
        })[];
      }
    | undefined;
}

interface RefusedListProps<Row> {
  readonly pages: RefusedPages<Row>;
  readonly table: TableState;
  readonly columns: readonly Column<Row>[];
  readonly searchLabel: string;
  readonly filters?: ReactNode;
}

/** Refused calls with a filter by reason, which offers the reasons that occur. */
export function RefusedList<Row extends ItemOf<'GET /api/console/refused-calls'>>(
  props: RefusedListProps<Row>,
) {
  const { t } = useTranslation();
  const { pages, table, columns, searchLabel, filters } = props;
  const hasNothing = useBlank(pages, table);
  const [first] = pages.data?.pages ?? [];
  const calls = new Map(first?.reasons.map((one) => [one.reason, one.calls]));
  const name = (reason: string): string => {
    const known = knownReason(reason);
    const text = known === 'other' ? reason : t(`refused.reasons.${known}.title`);
    const count = calls.get(reason);
    return count === undefined ? text : t('refused.withCalls', { reason: text, calls: count });
  };
  const leftOut = first?.leftOut ?? 0;
  return (
    <>
      {hasNothing ? null : (
        <TableFilters table={table} searchLabel={searchLabel}>
          <TableFilter
            table={table}
            field="reason"
            label={t('refused.reason')}
            values={[...calls.keys()]}
            name={name}
          />
        </TableFilters>
      )}
      {filters}
      {leftOut > 0 ? <p className="text-sm text-ink-3">{t('refused.leftOut', { count: leftOut })}</p> : null}
      <Card flush>
        <TableList
          pages={pages}
          table={table}
          label={t('refused.title')}
          columns={columns}
          rowKey={(row) => `${row.requestId}.${row.id}`}
          empty={<Empty title={t('refused.empty')}>{t('refused.emptyLead')}</Empty>}
        />
      </Card>
    </>
  );
}
