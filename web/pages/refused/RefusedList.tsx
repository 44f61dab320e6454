import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { RefusedCallItem, RefusedCallPage } from '../../../src/console/contract.ts';
import type { usePages } from '../../lib/pages.ts';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { SelectField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../ui/States.tsx';
import { Table, type Column } from '../../ui/Table.tsx';
import { knownReason } from './reason.ts';

type Route = 'GET /api/console/refused-calls' | 'GET /api/console/admin/refused-calls';

interface RefusedListProps<Row> {
  readonly pages: ReturnType<typeof usePages<Route>>;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly label: string;
  readonly reason: string | undefined;
  readonly onReason: (reason: string | undefined) => void;
  /** What else is filtered by. */
  readonly filters?: ReactNode;
}

/** Refused calls with the filter by reason; it offers the reasons that there are. */
export function RefusedList<Row extends RefusedCallItem>(props: RefusedListProps<Row>) {
  const { t } = useTranslation();
  const { pages, rows, columns, label, reason, onReason, filters } = props;
  if (pages.error && !pages.data)
    return <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />;
  const [first] = pages.data?.pages ?? [];
  if (!first) return <SkeletonRows rows={8} />;
  return (
    <>
      {first.reasons.length > 0 || reason ? (
        <ReasonFilter reasons={first.reasons} reason={reason} onReason={onReason} />
      ) : null}
      {filters}
      {first.leftOut > 0 ? (
        <p className="text-sm text-ink-3">{t('refused.leftOut', { count: first.leftOut })}</p>
      ) : null}
      <Card flush>
        {rows.length > 0 ? (
          <Table label={label} columns={columns} rows={rows} rowKey={(row) => `${row.requestId}.${row.id}`} />
        ) : reason ? (
          <Empty title={t('refused.emptyFiltered')} />
        ) : (
          <Empty title={t('refused.empty')}>{t('refused.emptyLead')}</Empty>
        )}
        <Pager pages={pages} />
      </Card>
    </>
  );
}

interface ReasonFilterProps {
  readonly reasons: RefusedCallPage['reasons'];
  readonly reason: string | undefined;
  readonly onReason: (reason: string | undefined) => void;
}

function ReasonFilter({ reasons, reason, onReason }: ReasonFilterProps) {
  const { t } = useTranslation();
  const name = (one: string): string =>
    knownReason(one) === 'other' ? one : t(`refused.reasons.${knownReason(one)}.title`);
  const isListed = reasons.some((one) => one.reason === reason);
  return (
    <Form className="flex flex-wrap items-end gap-3" onSubmit={() => undefined}>
      <SelectField
        label={t('refused.reason')}
        value={reason ?? ''}
        onChange={(event) => onReason(event.target.value || undefined)}
        fieldClassName="w-72 max-sm:w-full"
      >
        <option value="">{t('common.all')}</option>
        {reasons.map((one) => (
          <option key={one.reason} value={one.reason}>
            {t('refused.withCalls', { reason: name(one.reason), calls: one.calls })}
          </option>
        ))}
        {reason && !isListed ? <option value={reason}>{name(reason)}</option> : null}
      </SelectField>
      {reason ? (
        <Button kind="ghost" onClick={() => onReason(undefined)}>
          {t('common.clear')}
        </Button>
      ) : null}
    </Form>
  );
}
