import { useMemo, useState } from 'react';
import { useApi, call } from '../../lib/api.ts';
import { useSite } from '../../lib/session.ts';
import { usePages } from '../../lib/pages.ts';
import { NEWEST_FIRST, useTable } from '../../lib/table.ts';
import { useToday } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useWallet, BALANCE_READS } from '../../lib/wallet.ts';
import { Card, Page } from '../../ui/Card.tsx';
import { Converted, Money } from '../../ui/Money.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Empty, FormError } from '../../ui/States.tsx';
import { DayRangeField, TableFilters } from '../../ui/TableFilters.tsx';
import { TableList, useBlank } from '../../ui/TableList.tsx';
import { ReceiptSheet } from '../requests/ReceiptSheet.tsx';
import { Automatic } from './Automatic.tsx';
import { entryColumns, requestsOfDay } from './columns.tsx';
import { EntryKindFilter } from './EntryKindFilter.tsx';
import { PaymentHistory } from './PaymentHistory.tsx';
import { SeesMoney } from './SeesMoney.tsx';
import type { CardPayments } from '../../lib/answers.ts';
import { useAction } from '../../lib/action.ts';
import { formatUsd } from '../../lib/money.ts';
import { Button } from '../../ui/Button.tsx';
import { Check, TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { Segments } from '../../ui/Segments.tsx';

export default function BillingPage() {
  const { t } = useTranslation();
  return (
    <SeesMoney title={t('billing.title')}>
      <Billing />
    </SeesMoney>
  );
}

function Billing() {
  const { t } = useTranslation();
  const { wallet, team } = useWallet();
  const money = useApi('GET /api/console/wallet', { query: { wallet } }).data;
  const payments = useApi('GET /api/console/payments', { query: { wallet } }).data;
  return (
    <Page
      title={t('billing.title')}
      lead={team ? t('billing.teamLead', { team: team.name }) : t('billing.lead')}
    >
      {payments?.pausedBy ? (
        <p role="alert" className="rounded-lg border border-bad-line bg-bad-soft px-5 py-4 text-bad">
          {t(`payments.paused.${payments.pausedBy}`)}
        </p>
      ) : null}
      {payments?.cardsOff && payments.pausedBy === null ? (
        <p role="alert" className="rounded-lg border border-bad-line bg-bad-soft px-5 py-4 text-bad">
          {t('payments.cardsOff')}
        </p>
      ) : null}
      <div className="grid gap-5 lg:grid-cols-[1fr_1.2fr]">
        <Card>
          <p className="text-sm text-ink-3">{t('billing.available')}</p>
          <p className="text-2xl font-semibold tracking-tight">
            {money ? <Money usd={money.availableUsd} kind="available" /> : '…'}
          </p>
          {money ? <Converted usd={money.availableUsd} kind="available" /> : null}
          <dl className="mt-5 flex flex-col gap-1.5">
            <LedgerLine
              label={t('billing.balance')}
              value={money ? <Money usd={money.balanceUsd} kind="available" /> : '…'}
            />
            <LedgerLine label={t('billing.held')} value={money ? <Money usd={money.heldUsd} /> : '…'} />
            {money && Number(money.owedUsd) > 0 ? (
              <LedgerLine label={t('billing.owed')} value={<Money usd={money.owedUsd} />} />
            ) : null}
          </dl>
        </Card>
        <AddFunds mayPay={money?.mayPay === true} />
      </div>
      {payments?.enabled ? (
        <>
          {money?.mayPay ? (
            <div key={wallet} className="grid gap-5 lg:grid-cols-[1fr_1.2fr]">
              <CardTopUp payments={payments} />
              <Automatic payments={payments} />
            </div>
          ) : null}
          <PaymentHistory />
        </>
      ) : null}
      <Entries />
    </Page>
  );
}

function AddFunds({ mayPay }: { mayPay: boolean }) {
  const { t } = useTranslation();
  const site = useSite();
  if (!mayPay)
    return (
      <Card title={t('billing.howTo')}>
        <p className="text-ink-2">{t('billing.ownersPay')}</p>
      </Card>
    );
  return (
    <Card title={t('billing.redeem')}>
      <Redeem />
      <div className="mt-5 border-t border-line pt-4 text-sm">
        <p className="font-medium">{t('billing.howTo')}</p>
        <p className="whitespace-pre-line text-ink-2">{site?.topUpHint || t('billing.howToDefault')}</p>
      </div>
    </Card>
  );
}

function Entries() {
  const { t, i18n } = useTranslation();
  const { wallet, team } = useWallet();
  const table = useTable({
    fields: ['kind', 'from', 'to'],
    sorts: { offered: [], usual: NEWEST_FIRST },
  });
  const [open, setOpen] = useState<string>();
  const today = useToday();
  const pages = usePages('GET /api/console/entries', { query: { ...table.query, wallet } });
  const hasNothing = useBlank(pages, table);
  const values = useApi('GET /api/console/list-values', { query: { wallet } }).data;
  const columns = useMemo(
    () => entryColumns({ t, i18n }, { onReceipt: setOpen, requestsHref: requestsOfDay(wallet) }),
    [t, i18n, wallet],
  );
  return (
    <Card flush title={t('billing.entries')} hint={t('billing.entriesHint')}>
      {hasNothing ? null : (
        <TableFilters table={table} searchLabel={t('tables.searchEntries')} className="px-5 pb-4">
          <EntryKindFilter table={table} kinds={values?.entryKinds} />
          <DayRangeField canBeAny range={table.values} today={today} change={table.set} />
        </TableFilters>
      )}
      <TableList
        pages={pages}
        table={table}
        label={t('billing.entries')}
        columns={columns}
        rowKey={(row) => row.id}
        empty={<Empty title={t('billing.empty')}>{t('billing.emptyLead')}</Empty>}
      />
      <ReceiptSheet isTeams={team !== undefined} id={open} onClose={() => setOpen(undefined)} />
    </Card>
  );
}

/** Choosing an amount; the card is entered on the payment provider's page. */
function CardTopUp({ payments }: { payments: CardPayments }) {
  const { t, i18n } = useTranslation();
  const { wallet } = useWallet();
  const [chosen, setChosen] = useState(payments.amountsUsd[0] ?? '');
  const [saveCard, setSaveCard] = useState(false);
  const pay = useAction(
    async () =>
      await call('POST /api/console/payments/checkout', {
        body: { amountUsd: chosen, saveCard },
        query: { wallet },
      }),
    { onDone: ({ url }) => location.assign(url) },
  );
  const shown = (amount: string): string => formatUsd(amount, i18n.language);
  const hasReturned = new URLSearchParams(location.search).has('payment');
  return (
    <Card title={t('payments.topUp')} hint={t('payments.topUpHint')}>
      <Form className="flex flex-col items-start gap-4" onSubmit={() => pay.mutate()}>
        <Segments
          label={t('payments.amount')}
          value={chosen}
          onChange={setChosen}
          options={payments.amountsUsd.map((value) => ({ value, label: shown(value) }))}
        />
        {payments.hasCard ? null : (
          <Check
            label={t('payments.saveCard')}
            checked={saveCard}
            onChange={(event) => setSaveCard(event.target.checked)}
          />
        )}
        <FormError error={pay.error} />
        <Button type="submit" kind="primary" busy={pay.isPending} disabled={!payments.canPay}>
          {t('payments.pay', { amount: shown(chosen) })}
        </Button>
        <p role="status" className="text-accent">
          {hasReturned ? t('payments.returned') : ''}
        </p>
      </Form>
    </Card>
  );
}

/** Four groups of four, in every language. */
const CODE_LOOKS_LIKE = '0000-0000-0000-0000';

function Redeem() {
  const { wallet } = useWallet();
  const { t, i18n } = useTranslation();
  const [code, setCode] = useState('');
  const redeem = useAction(
    async () => await call('POST /api/console/redeem', { body: { code: code.trim() }, query: { wallet } }),
    {
      refresh: [...BALANCE_READS, 'GET /api/console/entries'],
      onDone: () => setCode(''),
    },
  );
  return (
    <Form onSubmit={() => redeem.mutate()}>
      <div className="flex items-start gap-2">
        <TextField
          label={t('billing.code')}
          hideLabel
          required
          placeholder={CODE_LOOKS_LIKE}
          autoComplete="off"
          spellCheck={false}
          className="font-mono"
          fieldClassName="flex-1"
          value={code}
          error={redeem.error?.message}
          onChange={(event) => setCode(event.target.value)}
        />
        <Button type="submit" kind="primary" busy={redeem.isPending} disabled={code.trim() === ''}>
          {t('billing.redeemGo')}
        </Button>
      </div>
      <p role="status" className="mt-2 text-accent empty:sr-only">
        {redeem.data
          ? t('billing.redeemed', {
              amount: formatUsd(redeem.data.amountUsd, i18n.language),
              balance: formatUsd(redeem.data.balanceUsd, i18n.language, { kind: 'available' }),
            })
          : ''}
      </p>
    </Form>
  );
}
