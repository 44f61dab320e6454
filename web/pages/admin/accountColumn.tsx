import type { TFunction } from 'i18next';
import { useApi } from '../../lib/api.ts';
import type { TableState } from '../../lib/table.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Link } from '../../ui/Link.tsx';
import { Nothing } from '../../ui/Numbers.tsx';
import type { Column } from '../../ui/Table.tsx';

interface OfAccount {
  readonly accountId: string | null;
  readonly email: string | null;
}

/** The account of a row, by its email address. */
export function accountColumn<Row extends OfAccount>(t: TFunction): Column<Row> {
  return {
    id: 'account',
    header: t('requests.account'),
    sortsFirst: 'ascending',
    cell: (row) =>
      row.accountId ? (
        <Link
          href={`/admin/accounts?id=${encodeURIComponent(row.accountId)}`}
          className="block max-w-48 truncate hover:text-accent hover:underline"
          title={row.email || row.accountId}
        >
          {row.email || row.accountId}
        </Link>
      ) : (
        <Nothing />
      ),
  };
}

/** The account that another page has filtered by; the address may hold its id or its email address. */
export function ChosenAccount({ table }: { table: TableState }) {
  const account = table.values['account'];
  return account ? <Chosen account={account} onClear={() => table.set({ account: undefined })} /> : null;
}

function Chosen({ account, onClear }: { account: string; onClear: () => void }) {
  const { t } = useTranslation();
  const isId = !account.includes('@');
  const detail = useApi(
    'GET /api/console/admin/accounts/{id}',
    { params: { id: account } },
    { enabled: isId },
  );
  return (
    <p className="-mt-2 flex items-center gap-2 text-sm text-ink-3">
      {t('requests.account')}: <span className="text-ink">{detail.data?.email ?? account}</span>
      <Button small kind="ghost" onClick={onClear}>
        {t('tables.removeAccount')}
      </Button>
    </p>
  );
}
