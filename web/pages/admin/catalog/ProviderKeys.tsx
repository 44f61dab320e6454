import type { TFunction } from 'i18next';
import { useState } from 'react';
import type { ItemOf } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call, useApi } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { AskDialog } from '../../../ui/Dialog.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Empty, FormError, Loaded, SkeletonRows } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { Time } from '../../../ui/Time.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { Changeable, Form } from '../../../ui/Form.tsx';

type AdminProviderKey = ItemOf<'GET /api/console/admin/catalog/keys'>;

const READS = [
  'GET /api/console/admin/catalog/keys',
  'GET /api/console/admin/catalog',
  'GET /api/console/models',
] as const;

/** Provider keys, by the name that the YAML uses. They can be set but never read. */
export function ProviderKeys() {
  const { t } = useTranslation();
  const keys = useApi('GET /api/console/admin/catalog/keys');
  const hosts: Record<string, string> = { ...keys.data?.knownHosts };
  for (const { name, host } of keys.data?.items ?? []) if (host !== null) hosts[name] = host;
  return (
    <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <Loaded query={keys} skeleton={<SkeletonRows rows={3} />}>
        {({ items }) => (
          <Card flush>
            {items.length === 0 ? (
              <Empty title={t('catalog.noKeys')}>{t('catalog.noKeysLead')}</Empty>
            ) : (
              <Table
                label={t('catalog.keys')}
                rows={items}
                rowKey={(row) => row.name}
                columns={keyColumns(t)}
              />
            )}
          </Card>
        )}
      </Loaded>
      <Changeable right="change_catalog" otherwise={null}>
        <SetKey hosts={hosts} />
      </Changeable>
    </div>
  );
}

/** `hosts` says which server the key of a name is for, where that is known. */
function SetKey({ hosts }: { hosts: Readonly<Record<string, string>> }) {
  const { t } = useTranslation();
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const [typedHost, setTypedHost] = useState<string>();
  const host = typedHost ?? hosts[name.trim()] ?? '';
  const set = useAction(
    async (): Promise<AdminProviderKey> =>
      await call('PUT /api/console/admin/catalog/keys/{id}', {
        params: { id: name.trim() },
        body: { value: value.trim(), host: host.trim() },
      }),
    {
      refresh: READS,
      onDone: () => {
        setName('');
        setValue('');
        setTypedHost(undefined);
        toast(t('catalog.keySet'));
      },
    },
  );
  return (
    <Card title={t('catalog.keyNew')}>
      <Form onSubmit={() => set.mutate()}>
        <TextField
          label={t('catalog.keyName')}
          required
          pattern="[A-Z][A-Z0-9_]*"
          placeholder="OPENAI_API_KEY"
          className="font-mono"
          value={name}
          onChange={(event) => setName(event.target.value.toUpperCase())}
        />
        <TextField
          label={t('catalog.keyHost')}
          hint={t('catalog.keyHostHint')}
          required
          inputMode="url"
          autoComplete="off"
          placeholder="https://api.example.com"
          value={host}
          onChange={(event) => setTypedHost(event.target.value)}
        />
        <TextField
          label={t('catalog.keyValue')}
          hint={t('catalog.keyHint', { name: `{${name || 'NAME'}}` })}
          required
          type="password"
          autoComplete="off"
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
        <FormError error={set.error} />
        <Button type="submit" kind="primary" busy={set.isPending} className="self-start">
          {t('common.save')}
        </Button>
      </Form>
    </Card>
  );
}

function DeleteKey({ name }: { name: string }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  const remove = useAction(
    async () => await call('DELETE /api/console/admin/catalog/keys/{id}', { params: { id: name } }),
    {
      refresh: READS,
      onDone: () => toast(t('catalog.keyDeleted')),
    },
  );
  return (
    <>
      <Button small kind="ghost" busy={remove.isPending} onClick={() => setAsking(true)}>
        {t('common.delete')}
      </Button>
      <AskDialog
        open={asking}
        title={t('catalog.keyDeleteTitle', { name })}
        go={t('common.delete')}
        onGo={() => remove.mutate()}
        onClose={() => setAsking(false)}
      >
        {t('catalog.keyDeleteLead')}
      </AskDialog>
    </>
  );
}

function keyColumns(t: TFunction): Column<AdminProviderKey>[] {
  return [
    {
      id: 'name',
      header: t('catalog.keyName'),
      card: 'title',
      cell: (row) => <code>{row.name}</code>,
    },
    {
      id: 'host',
      header: t('catalog.keyHost'),
      cell: (row) =>
        row.host === null ? (
          <span className="text-sm text-bad">{t('catalog.keyNoHost')}</span>
        ) : (
          <code className="text-xs break-all">{row.host}</code>
        ),
    },
    {
      id: 'hint',
      header: t('catalog.keyValue'),
      cell: (row) => <code className="text-ink-3">{row.hint}</code>,
    },
    {
      id: 'at',
      header: t('catalog.keyUpdated'),
      cell: (row) => <Time at={row.updatedAt} style="relative" />,
    },
    {
      id: 'delete',
      header: <span className="sr-only">{t('common.delete')}</span>,
      align: 'right',
      card: 'aside',
      cell: (row) => (
        <Changeable right="change_catalog" otherwise={null}>
          <DeleteKey name={row.name} />
        </Changeable>
      ),
    },
  ];
}
