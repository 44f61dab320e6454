import type { TFunction } from 'i18next';
import Download from 'lucide-react/icons/download';
import Plus from 'lucide-react/icons/plus';
import { useState } from 'react';
import type { Answer, ItemOf } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { saveFile, randomKey } from '../../../lib/browser.ts';
import { useForm } from '../../../lib/form.ts';
import { formatExactUsd, multiply, parseUsd } from '../../../lib/money.ts';
import { usePages } from '../../../lib/pages.ts';
import { NEWEST_FIRST, useTable } from '../../../lib/table.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Dialog, AskDialog } from '../../../ui/Dialog.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { CopyButton } from '../../../ui/Copy.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Changeable, Form } from '../../../ui/Form.tsx';
import { Meter } from '../../../ui/Limits.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Empty, FormError } from '../../../ui/States.tsx';
import type { Column } from '../../../ui/Table.tsx';
import { TableFilter, TableFilters } from '../../../ui/TableFilters.tsx';
import { TableList } from '../../../ui/TableList.tsx';
import { Time } from '../../../ui/Time.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { Invites } from './Invites.tsx';

type AdminMadeCodes = Answer<'POST /api/console/admin/codes'>;

type AdminCodeBatch = ItemOf<'GET /api/console/admin/codes'>;

export default function CodesPage() {
  const { t } = useTranslation();
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<AdminMadeCodes>();
  return (
    <Page
      title={t('codes.title')}
      lead={t('codes.lead')}
      actions={
        <Changeable right="adjust_money">
          <Button small kind="primary" icon={<Plus size={15} aria-hidden />} onClick={() => setMaking(true)}>
            {t('codes.make')}
          </Button>
        </Changeable>
      }
    >
      <Batches />
      <Invites />
      {making ? (
        <MakeCodes
          onClose={() => setMaking(false)}
          onMade={(codes) => {
            setMaking(false);
            setMade(codes);
          }}
        />
      ) : null}
      {made ? <MadeCodes made={made} onClose={() => setMade(undefined)} /> : null}
    </Page>
  );
}

function Batches() {
  const { t } = useTranslation();
  const table = useTable({
    fields: ['state'],
    sorts: { offered: ['time', 'batch', 'amount', 'redeemed'], usual: NEWEST_FIRST },
  });
  const pages = usePages('GET /api/console/admin/codes', { query: table.query });
  return (
    <Card flush title={t('codes.batches')}>
      <TableFilters table={table} searchLabel={t('codes.search')} className="px-5 pb-4">
        <TableFilter
          table={table}
          field="state"
          label={t('codes.state')}
          values={['open', 'over']}
          name={(state) => t(state === 'open' ? 'codes.stillOpen' : 'codes.isOver')}
        />
      </TableFilters>
      <TableList
        pages={pages}
        table={table}
        label={t('codes.batches')}
        columns={batchColumns(t)}
        rowKey={(row) => row.batch}
        empty={<Empty title={t('codes.empty')}>{t('codes.emptyLead')}</Empty>}
      />
    </Card>
  );
}

function batchColumns(t: TFunction): Column<AdminCodeBatch>[] {
  return [
    {
      id: 'batch',
      header: t('codes.batchName'),
      card: 'title',
      sortsFirst: 'ascending',
      cell: (row) => <span className="font-medium">{row.batch}</span>,
    },
    {
      id: 'amount',
      header: t('codes.each'),
      sortsFirst: 'descending',
      align: 'right',
      card: 'aside',
      cell: (row) => <Money usd={row.amountUsd} />,
    },
    {
      id: 'redeemed',
      header: t('codes.redeemed'),
      sortsFirst: 'descending',
      cell: (row) => (
        <span className="block w-36">
          <span className="tabular-nums">{t('codes.of', { redeemed: row.redeemed, count: row.count })}</span>
          <Meter share={row.redeemed / Math.max(row.count, 1)} label={t('codes.redeemed')} />
        </span>
      ),
    },
    {
      id: 'by',
      header: t('codes.createdBy'),
      cell: (row) => <span className="break-all">{row.createdBy}</span>,
    },
    {
      id: 'time',
      header: t('codes.created'),
      sortsFirst: 'descending',
      cell: (row) => <Time at={row.createdAt} style="date" />,
    },
    {
      id: 'valid',
      header: t('codes.valid'),
      cell: (row) =>
        row.open === 0 ? (
          <span className="text-ink-3">
            {t(row.redeemed === row.count ? 'codes.allRedeemed' : 'codes.over')}
          </span>
        ) : row.expiresAt ? (
          <Time at={row.expiresAt} style="date" />
        ) : (
          t('codes.forever')
        ),
    },
    {
      id: 'actions',
      header: <span className="sr-only">{t('codes.cancel')}</span>,
      align: 'right',
      cell: (row) =>
        row.open > 0 ? (
          <Changeable right="adjust_money">
            <CancelBatch batch={row} />
          </Changeable>
        ) : null,
    },
  ];
}

/** Cancels the codes of a batch that nobody has redeemed. */
function CancelBatch({ batch: { batch, open } }: { batch: AdminCodeBatch }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  const [key] = useState(randomKey);
  const cancel = useAction(
    async () =>
      await call('POST /api/console/admin/codes/{id}/cancel', { key, params: { id: batch }, body: {} }),
    {
      refresh: ['GET /api/console/admin/codes'],
      onDone: ({ cancelled }) => toast(t('codes.cancelled', { count: cancelled })),
    },
  );
  return (
    <>
      <Button small kind="ghost" busy={cancel.isPending} onClick={() => setAsking(true)}>
        {t('codes.cancel')}
      </Button>
      <AskDialog
        open={asking}
        title={t('codes.cancelTitle', { batch })}
        go={t('codes.cancelGo')}
        onGo={() => cancel.mutate()}
        onClose={() => setAsking(false)}
      >
        {t('codes.cancelLead', { count: open })}
      </AskDialog>
    </>
  );
}

function MakeCodes({ onMade, onClose }: { onMade: (codes: AdminMadeCodes) => void; onClose: () => void }) {
  const { t, i18n } = useTranslation();
  const { values, field } = useForm({ amount: '', count: '1', batch: '', expires: '' });
  const amountUsd = parseUsd(values.amount);
  const wrong = values.amount !== '' && (amountUsd === undefined || amountUsd.startsWith('-'));
  const count = Math.max(1, Math.min(1000, Math.floor(Number(values.count)) || 1));
  const [key] = useState(randomKey);
  const make = useAction(
    async () =>
      await call('POST /api/console/admin/codes', {
        key,
        body: {
          amountUsd: amountUsd ?? '0',
          count,
          ...(values.batch.trim() ? { batch: values.batch.trim() } : {}),
          expiresAt: values.expires ? endOfDay(values.expires) : null,
        },
      }),
    { refresh: ['GET /api/console/admin/codes'], onDone: onMade },
  );
  const error = wrong ? t('settings.badAmount') : undefined;
  return (
    <Dialog open title={t('codes.makeTitle')} onClose={onClose}>
      <Form onSubmit={() => !wrong && make.mutate()}>
        <div className="grid grid-cols-2 gap-3">
          <TextField
            label={t('codes.amount')}
            inputMode="decimal"
            required
            autoFocus
            placeholder="10.00"
            error={error}
            {...field('amount')}
          />
          <TextField label={t('codes.count')} type="number" min={1} max={1000} required {...field('count')} />
        </div>
        <TextField label={t('codes.batch')} maxLength={60} {...field('batch')} />
        <TextField label={t('codes.expires')} type="date" {...field('expires')} />
        <FormError error={make.error} />
        <div className="flex items-center justify-between gap-3">
          <p className="text-ink-3">
            {amountUsd && !wrong
              ? t('codes.total', { amount: formatExactUsd(multiply(amountUsd, count), i18n.language) })
              : ''}
          </p>
          <Button type="submit" kind="primary" busy={make.isPending}>
            {t('codes.make')}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** A code that is valid until a day is still valid on that day. */
function endOfDay(day: string): number {
  return new Date(`${day}T23:59:59`).getTime();
}

/** The only time the codes are shown. */
function MadeCodes({ made, onClose }: { made: AdminMadeCodes; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog
      open
      insistent
      title={t('codes.madeTitle', { count: made.codes.length })}
      onClose={onClose}
      footer={
        <>
          <CopyButton small={false} text={made.codes.join('\n')} />
          <Button icon={<Download size={15} aria-hidden />} onClick={() => saveCsv(made)}>
            {t('codes.downloadCsv')}
          </Button>
          <Button kind="primary" onClick={onClose}>
            {t('codes.savedThem')}
          </Button>
        </>
      }
    >
      <p className="mb-3 text-ink-2">{t('codes.madeLead')}</p>
      <pre
        data-testid="codes"
        className="thin-scroll max-h-72 overflow-y-auto rounded-md border border-line bg-sunken p-4 text-sm select-all"
      >
        {made.codes.join('\n')}
      </pre>
    </Dialog>
  );
}

function saveCsv(made: AdminMadeCodes): void {
  const lines = [
    'code,amount_usd,batch',
    ...made.codes.map((code) => `${code},${made.amountUsd},"${made.batch.replaceAll('"', '""')}"`),
  ];
  const name = `codes-${made.batch.replaceAll(/[^\w-]+/g, '-')}.csv`;
  saveFile(name, new Blob([`${lines.join('\r\n')}\r\n`], { type: 'text/csv' }));
}
