import { useState } from 'react';
import KeyRound from 'lucide-react/icons/key-round';
import type { Answer } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { call, useApi } from '../../lib/api.ts';
import { freshToken, useCreateToken } from '../../lib/freshToken.ts';
import { formatRelative, useNow } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { Empty, FormError, Loaded, Skeleton } from '../../ui/States.tsx';
import { Time } from '../../ui/Time.tsx';
import { toast } from '../../ui/Toast.tsx';
import { AskDialog } from '../../ui/Dialog.tsx';
import { ShownToken } from './ShownToken.tsx';
import { formatUsd } from '../../lib/money.ts';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { LimitsDialog } from '../team/LimitsDialog.tsx';
import type { LimitsBody } from '../team/team.ts';

type TokenInfo = NonNullable<Answer<'GET /api/console/token'>['token']>;

export default function KeyPage() {
  const { t } = useTranslation();
  const state = useApi('GET /api/console/token');
  const team = state.data?.team;
  const [shown, setShown] = useState<string>();
  const create = useCreateToken(setShown);
  return (
    <Page title={t('key.title')} lead={team ? t('key.team', { team: team.name }) : t('key.lead')}>
      <Loaded query={state} skeleton={<Skeleton className="h-40 w-full rounded-lg" />}>
        {({ token }) =>
          token ? (
            <Present
              token={token}
              onReplace={() => create.mutate()}
              busy={create.isPending}
              error={create.error}
            />
          ) : team?.role === 'viewer' ? (
            <Card>
              <Empty title={t('key.viewer')}>{t('key.viewerLead', { team: team.name })}</Empty>
            </Card>
          ) : (
            <Card>
              <Empty
                title={t('key.none')}
                action={
                  <Button
                    kind="primary"
                    busy={create.isPending}
                    icon={<KeyRound size={15} aria-hidden />}
                    onClick={() => create.mutate()}
                  >
                    {t('key.create')}
                  </Button>
                }
              >
                {t('key.noneLead')}
              </Empty>
              <FormError error={create.error} />
            </Card>
          )
        }
      </Loaded>
      {state.data && !team ? <OwnLimits limited={state.data} /> : null}
      <Card title={t('key.rules')}>
        <ul className="flex list-disc flex-col gap-1.5 pl-5 text-ink-2 marker:text-ink-3">
          <li>{t('key.rule1')}</li>
          <li>{t('key.rule2')}</li>
          <li>{t('key.rule3')}</li>
        </ul>
      </Card>
      {shown ? <ShownToken token={shown} onClose={() => setShown(undefined)} /> : null}
    </Page>
  );
}

interface PresentProps {
  readonly token: TokenInfo;
  readonly onReplace: () => void;
  readonly busy: boolean;
  readonly error: Error | null;
}

function Present({ token, onReplace, busy, error }: PresentProps) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  return (
    <Card>
      <div className="flex flex-wrap items-center gap-x-8 gap-y-4">
        <code className="flex-1 basis-52 text-xl">{token.hint}</code>
        <dl className="flex gap-8 text-sm">
          <div>
            <dt className="text-ink-3">{t('key.created')}</dt>
            <dd>
              <Time at={token.createdAt} style="relative" />
            </dd>
          </div>
          <div>
            <dt className="text-ink-3">{t('key.used')}</dt>
            <dd>{token.usedAt ? <Time at={token.usedAt} style="relative" /> : t('key.neverUsed')}</dd>
          </div>
        </dl>
        <TokenActions token={token} onReplace={onReplace} busy={busy} />
      </div>
      {token.exposedAt ? (
        <p role="alert" className="mt-4 rounded-md border border-bad-line bg-bad-soft px-3 py-2 text-bad">
          {t('key.exposed', { when: formatRelative(token.exposedAt, now, i18n.language) })}
        </p>
      ) : null}
      {error ? (
        <div className="mt-4">
          <FormError error={error} />
        </div>
      ) : null}
    </Card>
  );
}

function TokenActions({ token, onReplace, busy }: Omit<PresentProps, 'error'>) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState<'replace' | 'revoke'>();
  const revoke = useAction(async () => await call('DELETE /api/console/token'), {
    refresh: ['GET /api/console/token', 'GET /api/console/overview', 'GET /api/console/quickstart'],
    onDone: () => {
      freshToken.clear();
      toast(t('key.revoked'));
    },
  });
  return (
    <div className="flex gap-2">
      <Button small busy={busy} onClick={() => setAsking('replace')}>
        {t('key.replace')}
      </Button>
      <Button small kind="ghost" busy={revoke.isPending} onClick={() => setAsking('revoke')}>
        {t('key.revoke')}
      </Button>
      <AskDialog
        open={asking === 'replace'}
        title={t('key.replaceTitle')}
        go={t('key.replaceGo')}
        onGo={onReplace}
        onClose={() => setAsking(undefined)}
      >
        {t('key.replaceLead', { hint: token.hint })}
      </AskDialog>
      <AskDialog
        open={asking === 'revoke'}
        title={t('key.revokeTitle')}
        go={t('key.revokeGo')}
        onGo={() => revoke.mutate()}
        onClose={() => setAsking(undefined)}
      >
        {t('key.revokeLead', { hint: token.hint })}
      </AskDialog>
    </div>
  );
}

type Limited = Pick<Answer<'GET /api/console/token'>, 'budget' | 'limits'>;

/** What the own token may spend and be used for. */
function OwnLimits({ limited }: { limited: Limited }) {
  const { t, i18n } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const { budget, limits } = limited;
  const usd = (amount: string): string => formatUsd(amount, i18n.language);
  const save = async ({ budget, models, networks, expiresAt }: LimitsBody) =>
    await call('POST /api/console/token/limits', { body: { budget, models, networks, expiresAt } });
  return (
    <Card
      title={t('key.limits')}
      hint={t('key.limitsHint')}
      actions={
        <Button small onClick={() => setOpen(true)}>
          {t('team.changeLimits')}
        </Button>
      }
    >
      <dl className="flex flex-col gap-1.5">
        <LedgerLine
          label={t('team.budget')}
          value={
            budget
              ? t(`team.budgetOf.${budget.per}`, { used: usd(budget.usedUsd), amount: usd(budget.amountUsd) })
              : t('team.noBudget')
          }
        />
        <LedgerLine label={t('team.models')} value={limits.models?.join(', ') ?? t('key.allModels')} />
        <LedgerLine label={t('team.networks')} value={limits.networks?.join(', ') ?? t('key.allNetworks')} />
        <LedgerLine
          label={t('team.lastDay')}
          value={limits.expiresAt === null ? t('key.noLastDay') : <Time at={limits.expiresAt - 1} />}
        />
      </dl>
      {isOpen ? (
        <LimitsDialog
          title={t('key.limits')}
          limited={limited}
          save={save}
          refresh={['GET /api/console/token', 'GET /api/console/overview']}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </Card>
  );
}
