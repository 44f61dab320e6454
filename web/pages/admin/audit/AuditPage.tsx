import type { TFunction } from 'i18next';
import type { ItemOf } from '../../../../src/console/contract/routes.ts';
import { useApi } from '../../../lib/api.ts';
import { formatExactUsd } from '../../../lib/money.ts';
import { usePages } from '../../../lib/pages.ts';
import { NEWEST_FIRST, useTable } from '../../../lib/table.ts';
import { utcText } from '../../../lib/time.ts';
import { textsOf, useTranslation } from '../../../lib/translation.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Nothing } from '../../../ui/Numbers.tsx';
import { Empty } from '../../../ui/States.tsx';
import { useColumns, type Column } from '../../../ui/Table.tsx';
import { TableFilter, TableFilters } from '../../../ui/TableFilters.tsx';
import { TableList } from '../../../ui/TableList.tsx';
import { Time } from '../../../ui/Time.tsx';
import { actionText, answerOf } from './action.ts';

type AdminAuditItem = ItemOf<'GET /api/console/admin/audit'>;

export default function AuditPage() {
  const { t } = useTranslation();
  const table = useTable({
    fields: ['actor', 'action'],
    sorts: { offered: ['time', 'actor', 'action'], usual: NEWEST_FIRST },
  });
  const pages = usePages('GET /api/console/admin/audit', { query: table.query });
  const values = useApi('GET /api/console/admin/list-values').data;
  const actionName = (action: string): string => {
    const { text, outcome } = actionText(action, textsOf(t, 'audit.actions'));
    return outcome ? t(`audit.${outcome}`, { action: text }) : text;
  };
  return (
    <Page wide title={t('audit.title')} lead={t('audit.lead')}>
      <TableFilters table={table} searchLabel={t('audit.search')}>
        <TableFilter
          table={table}
          field="action"
          label={t('audit.action')}
          values={values?.auditActions}
          name={actionName}
        />
        {table.values['actor'] ? (
          <TableFilter
            table={table}
            field="actor"
            label={t('audit.actor')}
            values={[]}
            name={(actor) => (actor === 'cli' ? t('audit.byCli') : actor)}
          />
        ) : null}
      </TableFilters>
      <Card flush>
        <TableList
          pages={pages}
          table={table}
          label={t('audit.title')}
          columns={useColumns(auditColumns)}
          rowKey={(row) => row.id}
          empty={<Empty title={t('audit.empty')} />}
        />
      </Card>
    </Page>
  );
}

function Detail({ action, detail }: Pick<AdminAuditItem, 'action' | 'detail'>) {
  const { t, i18n } = useTranslation();
  const labels = textsOf(t, 'audit.labels');
  const texts = textsOf(t, 'audit.actions');
  const answer = answerOf(detail)?.key;
  const isTold = actionText(action, texts, detail).text !== actionText(action, texts).text;
  const isSaid = (key: string, value: unknown): boolean => value === '' || (isTold && key === answer);
  const told = Object.entries(detail)
    .filter(([key, value]) => !isSaid(key, value))
    .map(
      ([key, value]) => [action.startsWith('team.') && key === 'role' ? 'team_role' : key, value] as const,
    );
  if (told.length === 0) return <Nothing />;
  return (
    <dl className="flex flex-wrap gap-x-4 gap-y-0.5 text-sm">
      {told.map(([key, value]) => (
        <div key={key} className="min-w-0">
          <dt className="inline text-ink-3">{labels[key] ?? spaced(key)}</dt>
          <dd className="ml-1.5 inline wrap-anywhere" title={plainText(value)}>
            {valueText(key, value, { t, language: i18n.language, labels })}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** `monthlyLimitUsd` → `monthly limit` */
function spaced(key: string): string {
  return key
    .replace(/(?:Usd|_usd)$/, '')
    .replaceAll('_', ' ')
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Prices of a backend are recorded as they were checked: whole numbers of nano-dollars. */
const NANO_DOLLARS: ReadonlySet<string> = new Set(['input', 'output', 'image']);

/** In milliseconds, as the operators' API takes them. */
const MOMENTS: ReadonlySet<string> = new Set(['from', 'expires', 'expiresAt']);

interface Wording {
  readonly labels: Readonly<Record<string, string>>;
  readonly t: TFunction;
  readonly language: string;
}

/** Amounts in dollars, answers as yes and no; texts and numbers as they are. */
function valueText(key: string, value: unknown, wording: Wording): string {
  const { t, language } = wording;
  if (value === null) return t('audit.none');
  if (typeof value === 'boolean') return t(value ? 'audit.yes' : 'audit.no');
  if (Array.isArray(value)) return value.map((one) => valueText(key, one, wording)).join(', ');
  // Prices in the order in which they are written: what goes in, what comes out.
  if (isPrice(value))
    return Object.entries(value)
      .map(([inner, one]) => valueText(inner, one, wording))
      .join(' / ');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([inner, one]) => {
        const text = valueText(inner, one, wording);
        return typeof one === 'object' && one !== null && !Array.isArray(one)
          ? `${nameOf(inner, wording)} (${text})`
          : `${nameOf(inner, wording)} ${text}`;
      })
      .join(', ');
  if (typeof value === 'number' && NANO_DOLLARS.has(key))
    return formatExactUsd((value / 1e9).toFixed(9).replace(/0{1,7}$/, ''), language);
  if (typeof value === 'number' && MOMENTS.has(key)) return utcText(value);
  if (typeof value === 'number' && key === 'markup') return `× ${value / 1e6}`;
  const text = plainText(value) ?? '';
  const isAmount = /usd$/i.test(key) || key === 'amount';
  if (isAmount && /^-?\d+(?:\.\d+)?$/.test(text)) return formatExactUsd(text, language);
  const words = wordsOf(key, t);
  // From what to what, as the server tells a state.
  if (text.includes(' → ')) {
    const states = textsOf(t, 'audit.values');
    const said = text.split(' → ').map((part) => words[part] ?? states[part] ?? part);
    return said.join(' → ');
  }
  return words[text.replaceAll('.', '_')] ?? text;
}

/** Where a value is one of a few that have names of their own. */
function wordsOf(key: string, t: TFunction): Readonly<Record<string, string>> {
  switch (key) {
    case 'role':
      return textsOf(t, 'operators.roles');
    case 'team_role':
      return textsOf(t, 'audit.teamRoles');
    case 'per':
      return textsOf(t, 'audit.values');
    case 'format':
      return textsOf(t, 'webhooks.format');
    case 'events':
      return textsOf(t, 'webhooks.event');
    default:
      return {};
  }
}

function isPrice(value: unknown): value is Readonly<Record<string, number>> {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).every(([key, one]) => NANO_DOLLARS.has(key) && typeof one === 'number');
}

function nameOf(key: string, { labels }: Wording): string {
  return labels[key] ?? spaced(key);
}

function plainText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function Action({ row: { action, detail }, t }: { row: AdminAuditItem; t: TFunction }) {
  const { text, outcome } = actionText(action, textsOf(t, 'audit.actions'), detail);
  return (
    <span title={action} className={`inline-block sm:min-w-44 ${outcome === 'refused' ? 'text-bad' : ''}`}>
      {outcome ? t(`audit.${outcome}`, { action: text }) : text}
    </span>
  );
}

function Target({ row: { target, targetEmail, targetToken } }: { row: AdminAuditItem }) {
  if (target === '') return <Nothing />;
  if (targetToken !== null)
    return (
      <span className="inline-block wrap-anywhere sm:min-w-40" title={target}>
        {targetToken}
      </span>
    );
  if (targetEmail === null) return <code className="text-xs break-all">{target}</code>;
  return (
    <Link
      href={`/admin/accounts?id=${encodeURIComponent(target)}`}
      title={target}
      className="inline-block wrap-anywhere hover:text-accent hover:underline sm:min-w-40"
    >
      {targetEmail}
    </Link>
  );
}

function auditColumns(t: TFunction): Column<AdminAuditItem>[] {
  return [
    {
      id: 'time',
      header: t('audit.time'),
      sortsFirst: 'descending',
      cell: (row) => <Time at={row.at} />,
    },
    {
      id: 'actor',
      header: t('audit.actor'),
      sortsFirst: 'ascending',
      cell: (row) => (
        <span className="inline-block wrap-anywhere sm:min-w-48" title={row.actor}>
          {row.actorEmail ?? row.actorToken ?? (row.actor === 'cli' ? t('audit.byCli') : row.actor)}
        </span>
      ),
    },
    {
      id: 'action',
      header: t('audit.action'),
      card: 'title',
      sortsFirst: 'ascending',
      cell: (row) => <Action row={row} t={t} />,
    },
    {
      id: 'target',
      header: t('audit.target'),
      cell: (row) => <Target row={row} />,
    },
    { id: 'detail', header: t('audit.detail'), cell: (row) => <Detail {...row} /> },
  ];
}
