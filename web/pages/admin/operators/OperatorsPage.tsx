import type { TFunction } from 'i18next';
import { useState } from 'react';
import type { Answer } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call, useApi } from '../../../lib/api.ts';
import { useForm } from '../../../lib/form.ts';
import { formatExactUsd, parseUsd } from '../../../lib/money.ts';
import { useUser } from '../../../lib/session.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge } from '../../../ui/Badge.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { AskDialog, Dialog } from '../../../ui/Dialog.tsx';
import { SelectField, TextField } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Empty, FormError } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { Time } from '../../../ui/Time.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { SecretDialog } from '../SecretDialog.tsx';

type Operators = Answer<'GET /api/console/admin/operators'>;
type Person = Operators['people'][number];
type Token = Operators['tokens'][number];

const READS = ['GET /api/console/admin/operators'] as const;
const ROLES = ['owner', 'full', 'support', 'finance', 'read'] as const;

/** Who operates this server: people with their roles, and tokens for programs. */
export default function OperatorsPage() {
  const { t } = useTranslation();
  const { data, error } = useApi('GET /api/console/admin/operators');
  const isOwner = useUser().rights.includes('change_operators');
  return (
    <Page wide title={t('operators.title')} lead={t('operators.lead')}>
      <FormError error={error} />
      {data ? (
        <div className="flex flex-col gap-6">
          <Card flush title={t('operators.people')} hint={t('operators.peopleHint')}>
            <Table
              label={t('operators.people')}
              columns={peopleColumns(t)}
              rows={data.people}
              rowKey={(row) => row.id}
            />
          </Card>
          <Tokens tokens={data.tokens} isOwner={isOwner} />
          <RolesCard rights={data.rights} />
          <SupportLimit limitUsd={data.supportLimitUsd} isOwner={isOwner} />
        </div>
      ) : null}
    </Page>
  );
}

function peopleColumns(t: TFunction): Column<Person>[] {
  return [
    {
      id: 'person',
      header: t('operators.person'),
      card: 'title',
      cell: (row) => (
        <Link
          href={`/admin/accounts?id=${encodeURIComponent(row.id)}`}
          className="break-all hover:text-accent hover:underline"
        >
          {row.email}
        </Link>
      ),
    },
    { id: 'role', header: t('accounts.role'), cell: (row) => t(`operators.roles.${row.role}`) },
    {
      id: 'status',
      header: t('accounts.status'),
      cell: (row) => (
        <Badge tone={row.status === 'active' ? 'good' : 'bad'}>{t(`accounts.${row.status}`)}</Badge>
      ),
    },
  ];
}

function Tokens({ tokens, isOwner }: { tokens: readonly Token[]; isOwner: boolean }) {
  const { t } = useTranslation();
  const [making, setMaking] = useState(false);
  const [secret, setSecret] = useState<string>();
  return (
    <Card
      flush
      title={t('operators.tokens')}
      hint={t('operators.tokensHint')}
      actions={
        isOwner ? (
          <Button small onClick={() => setMaking(true)}>
            {t('operators.make')}
          </Button>
        ) : null
      }
    >
      {tokens.length === 0 ? (
        <Empty compact title={t('operators.noTokens')} />
      ) : (
        <Table
          label={t('operators.tokens')}
          columns={tokenColumns(t, isOwner)}
          rows={tokens}
          rowKey={(row) => row.id}
        />
      )}
      {making ? (
        <MakeToken
          onClose={() => setMaking(false)}
          onMade={(token) => {
            setMaking(false);
            setSecret(token);
          }}
        />
      ) : null}
      {secret === undefined ? null : (
        <SecretDialog
          title={t('operators.made')}
          lead={t('operators.madeLead')}
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </Card>
  );
}

function tokenColumns(t: TFunction, isOwner: boolean): Column<Token>[] {
  return [
    {
      id: 'name',
      header: t('operators.name'),
      card: 'title',
      cell: (row) => (
        <>
          {row.name}
          <code className="block text-xs text-ink-3">{row.hint}</code>
        </>
      ),
    },
    { id: 'role', header: t('accounts.role'), cell: (row) => t(`operators.roles.${row.role}`) },
    {
      id: 'networks',
      header: t('operators.networks'),
      cell: (row) => row.networks?.join(', ') ?? t('operators.anyNetwork'),
    },
    {
      id: 'by',
      header: t('codes.createdBy'),
      className: 'sm:min-w-48 wrap-anywhere',
      cell: (row) => row.createdBy,
    },
    {
      id: 'expires',
      header: t('operators.expires'),
      cell: (row) => <Time at={row.expiresAt} style="date" />,
    },
    {
      id: 'used',
      header: t('operators.used'),
      cell: (row) => (row.usedAt === null ? t('operators.neverUsed') : <Time at={row.usedAt} />),
    },
    {
      id: 'state',
      header: t('accounts.status'),
      align: 'right',
      card: 'aside',
      cell: (row) => {
        if (row.state !== 'active') return <Badge>{t(`operators.${row.state}`)}</Badge>;
        return (
          <span className="inline-flex flex-wrap items-center justify-end gap-x-3 gap-y-1">
            <Badge tone="good">{t('accounts.active')}</Badge>
            {isOwner ? <EndToken token={row} /> : null}
          </span>
        );
      },
    },
  ];
}

function EndToken({ token }: { token: Token }) {
  const { t } = useTranslation();
  const end = useAction(
    async () =>
      await call('POST /api/console/admin/operator-tokens/{id}/end', { params: { id: token.id }, body: {} }),
    { refresh: READS, onDone: () => toast(t('operators.endDone', { name: token.name })) },
  );
  return (
    <>
      <Button small className="text-bad!" busy={end.isPending} onClick={() => end.mutate()}>
        {t('operators.end')}
      </Button>
      <FormError error={end.error} />
    </>
  );
}

function MakeToken({ onClose, onMade }: { onClose: () => void; onMade: (token: string) => void }) {
  const { t } = useTranslation();
  const { values, field } = useForm({ name: '', expires: '', networks: '' });
  const [role, setRole] = useState<(typeof ROLES)[number]>('read');
  const networks = values.networks.split(/[\s,]+/).filter((one) => one !== '');
  const make = useAction(
    async () =>
      await call('POST /api/console/admin/operator-tokens', {
        body: {
          name: values.name.trim(),
          role,
          expiresAt: Date.parse(`${values.expires}T23:59:59.999Z`),
          networks: networks.length === 0 ? null : networks,
        },
      }),
    { refresh: READS, onDone: ({ token }) => onMade(token) },
  );
  return (
    <Dialog open title={t('operators.make')} onClose={onClose}>
      <Form className="flex flex-col gap-4" onSubmit={() => make.mutate()}>
        <TextField
          label={t('operators.name')}
          hint={t('operators.nameHint')}
          required
          autoFocus
          maxLength={64}
          {...field('name')}
        />
        <RoleField label={t('accounts.role')} value={role} onChange={(chosen) => setRole(chosen ?? 'read')} />
        <TextField label={t('operators.expires')} type="date" required {...field('expires')} />
        <TextField
          label={t('operators.networksLabel')}
          hint={t('operators.networksHint')}
          className="font-mono"
          {...field('networks')}
        />
        <FormError error={make.error} />
        <Button type="submit" kind="primary" busy={make.isPending} className="self-end">
          {t('operators.make')}
        </Button>
      </Form>
    </Dialog>
  );
}

type Role = (typeof ROLES)[number];

function RoleField({
  label,
  value,
  onChange,
  none,
}: {
  label: string;
  value: Role | null;
  onChange: (role: Role | null) => void;
  none?: string;
}) {
  const { t } = useTranslation();
  return (
    <SelectField
      label={label}
      hint={value ? t(`operators.about.${value}`) : undefined}
      value={value ?? ''}
      onChange={({ target }) => onChange(ROLES.find((role) => role === target.value) ?? null)}
    >
      {none === undefined ? null : <option value="">{none}</option>}
      {ROLES.map((role) => (
        <option key={role} value={role}>
          {t(`operators.roles.${role}`)}
        </option>
      ))}
    </SelectField>
  );
}

/** The role of one person, in their account. */
export function PersonRole({
  account,
}: {
  account: { readonly id: string; readonly email: string; readonly role: Role | null };
}) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState<{ readonly role: Role | null }>();
  const change = useAction(
    async (role: Role | null) =>
      await call('PUT /api/console/admin/accounts/{id}/role', { params: { id: account.id }, body: { role } }),
    {
      refresh: [...READS, 'GET /api/console/admin/accounts', 'GET /api/console/admin/accounts/{id}'],
      onDone: () => toast(t('accounts.done')),
    },
  );
  return (
    <div className="mt-3 max-w-80">
      <RoleField
        label={t('operators.roleOf')}
        value={account.role}
        none={t('operators.noRole')}
        onChange={(role) => setAsked({ role })}
      />
      <FormError error={change.error} />
      {asked ? (
        <AskDialog
          open
          title={t('operators.change')}
          go={t('operators.change')}
          kind={asked.role === null ? 'danger' : 'primary'}
          onGo={() => change.mutate(asked.role)}
          onClose={() => setAsked(undefined)}
        >
          {t(asked.role === null ? 'operators.takeLead' : 'operators.giveLead', {
            email: account.email,
            role: asked.role ? t(`operators.roles.${asked.role}`) : '',
            about: asked.role ? t(`operators.about.${asked.role}`) : '',
          })}
        </AskDialog>
      ) : null}
    </div>
  );
}

/** The table from which console, API and command line decide. */
function RolesCard({ rights }: { rights: Operators['rights'] }) {
  const { t } = useTranslation();
  // The keys of the table, which has no others.
  const names = Object.keys(rights) as (keyof typeof rights)[];
  const columns: Column<keyof typeof rights>[] = [
    {
      id: 'right',
      header: t('operators.right'),
      card: 'title',
      cell: (right) => t(`operators.rights.${right}`),
    },
    {
      id: 'roles',
      header: t('operators.rolesTitle'),
      cell: (right) => rights[right].map((role) => t(`operators.roles.${role}`)).join(', '),
    },
  ];
  return (
    <Card flush title={t('operators.rolesTitle')} hint={t('operators.rolesHint')}>
      <Table label={t('operators.rolesTitle')} columns={columns} rows={names} rowKey={(right) => right} />
    </Card>
  );
}

function SupportLimit({ limitUsd, isOwner }: { limitUsd: string; isOwner: boolean }) {
  const { t, i18n } = useTranslation();
  const { values, field, reset } = useForm({ limit: '' });
  const amount = parseUsd(values.limit);
  const wrong = values.limit !== '' && (amount === undefined || amount.startsWith('-'));
  const save = useAction(
    async () =>
      await call('PUT /api/console/admin/operators/support-limit', { body: { limitUsd: amount ?? '0' } }),
    {
      refresh: READS,
      onDone: () => {
        reset();
        toast(t('accounts.done'));
      },
    },
  );
  return (
    <Card title={t('operators.limitTitle')} hint={t('operators.limitHint')}>
      <p>{t('operators.limitNow', { amount: formatExactUsd(limitUsd, i18n.language) })}</p>
      {isOwner ? (
        <Form className="mt-3 flex flex-wrap items-end gap-3" onSubmit={() => !wrong && save.mutate()}>
          <TextField
            label={t('operators.limitNew')}
            inputMode="decimal"
            required
            error={wrong ? t('settings.badAmount') : undefined}
            {...field('limit')}
          />
          <Button type="submit" busy={save.isPending}>
            {t('operators.limitSave')}
          </Button>
        </Form>
      ) : null}
      <FormError error={save.error} />
    </Card>
  );
}
