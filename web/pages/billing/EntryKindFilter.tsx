import type { ItemOf } from '../../../src/console/contract/routes.ts';
import type { TableState } from '../../lib/table.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { TableFilter } from '../../ui/TableFilters.tsx';

type Entry = ItemOf<'GET /api/console/entries'>;

interface EntryKindFilterProps {
  readonly table: TableState;
  /** The kinds that occur; absent until they are known. */
  readonly kinds: readonly Entry['kind'][] | undefined;
}

/** One kind of entry, or all but the charges of requests, which are most of them. */
export function EntryKindFilter({ table, kinds }: EntryKindFilterProps) {
  const { t } = useTranslation();
  const name = (kind: string): string => {
    if (kind === 'money') return t('billing.money');
    const known = KINDS.find((one) => one === kind);
    return known ? t(`billing.kinds.${known}`) : kind;
  };
  return (
    <TableFilter
      table={table}
      field="kind"
      label={t('billing.kind')}
      values={['money', ...(kinds ?? [])]}
      name={name}
    />
  );
}

const KINDS = ['credit', 'charge', 'refund', 'adjustment', 'overrun'] as const;
