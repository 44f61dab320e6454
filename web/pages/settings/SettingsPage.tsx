import Download from 'lucide-react/icons/download';
import { useState } from 'react';
import type { Answer, BodyOf } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { useApi, call, urlOf } from '../../lib/api.ts';
import { chooseLanguage, LANGUAGES, type Language } from '../../lib/i18n.ts';
import { parseUsd } from '../../lib/money.ts';
import { useUser, useSession } from '../../lib/session.ts';
import { useTheme, type ThemeChoice } from '../../lib/theme.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Badge } from '../../ui/Badge.tsx';
import { Button } from '../../ui/Button.tsx';
import { Page, Card } from '../../ui/Card.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { TextField, SelectField, Switch } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { Loaded, Skeleton, FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { PasskeysCard } from './PasskeysCard.tsx';
import { SessionsCard } from './SessionsCard.tsx';
import { TwoFactorCard } from './TwoFactorCard.tsx';

type Settings = Answer<'GET /api/console/settings'>;

export default function SettingsPage() {
  const { t } = useTranslation();
  const settings = useApi('GET /api/console/settings', undefined, { staleTime: Infinity });
  return (
    <Page title={t('settings.title')}>
      <Loaded query={settings} skeleton={<Skeleton className="h-96 w-full rounded-lg" />}>
        {(data) => (
          <div className="grid items-start gap-5 lg:grid-cols-2">
            <div className="flex min-w-0 flex-col gap-5">
              <ProfileCard settings={data} />
              <PasswordCard />
              <WarningCard settings={data} />
              <StoredResponsesCard settings={data} />
              <ExportCard />
            </div>
            <div className="flex min-w-0 flex-col gap-5">
              <AppearanceCard settings={data} />
              <PasskeysCard />
              <TwoFactorCard />
              <SessionsCard />
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function ProfileCard({ settings }: { settings: Settings }) {
  const { t } = useTranslation();
  const user = useUser();
  const [name, setName] = useState(settings.name);
  const save = useSaveSettings();
  return (
    <Card title={t('settings.profile')}>
      <Form onSubmit={() => save.mutate({ name: name.trim() })}>
        <TextField
          label={t('settings.name')}
          value={name}
          maxLength={100}
          autoComplete="name"
          onChange={(event) => setName(event.target.value)}
        />
        <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5 text-sm">
          <dt className="text-ink-3">{t('settings.email')}</dt>
          <dd className="truncate">{user.email}</dd>
          <dt className="text-ink-3">{t('settings.account')}</dt>
          <dd className="min-w-0">
            <CopyText text={user.accountId} />
          </dd>
        </dl>
        <AddressState />
        <FormError error={save.error} />
        <Button
          type="submit"
          busy={save.isPending}
          disabled={name.trim() === settings.name}
          className="self-start"
        >
          {t('common.save')}
        </Button>
      </Form>
    </Card>
  );
}

/** Whether the email address is confirmed, if the server can send the mail for it. */
function AddressState() {
  const { t } = useTranslation();
  const user = useUser();
  const sendsMail = useSession().data?.sendsMail ?? false;
  const send = useAction(async () => await call('POST /api/console/verify-email/send'), {
    onDone: () => toast(t('mailbox.verificationSent')),
  });
  if (user.emailVerified) return <Badge tone="good">{t('mailbox.verifiedBadge')}</Badge>;
  if (!sendsMail) return null;
  return (
    <div className="flex flex-col items-start gap-2 text-sm">
      <p className="text-ink-3">{t('mailbox.unverified')}</p>
      <Button small busy={send.isPending} onClick={() => send.mutate()}>
        {t('mailbox.sendVerification')}
      </Button>
      <FormError error={send.error} />
    </div>
  );
}

function useSaveSettings() {
  const { t } = useTranslation();
  return useAction(
    async (patch: BodyOf<'PATCH /api/console/settings'>) =>
      await call('PATCH /api/console/settings', { body: patch }),
    {
      refresh: ['GET /api/console/settings', 'GET /api/console/session', 'GET /api/console/overview'],
      onDone: () => toast(t('common.saved')),
    },
  );
}

function PasswordCard() {
  const { t } = useTranslation();
  const { hasPassword, email } = useUser();
  const [currentPassword, setCurrent] = useState('');
  const [newPassword, setNew] = useState('');
  const change = useAction(
    async () => await call('POST /api/auth/change-password', { body: { currentPassword, newPassword } }),
    {
      refresh: ['GET /api/console/sessions', 'GET /api/console/session'],
      onDone: () => {
        setCurrent('');
        setNew('');
        toast(t('settings.passwordChanged'));
      },
    },
  );
  return (
    <Card title={t('settings.password')}>
      {hasPassword ? (
        <Form onSubmit={() => change.mutate()}>
          <input type="text" autoComplete="username" value={email} readOnly hidden />
          <TextField
            label={t('settings.currentPassword')}
            type="password"
            autoComplete="current-password"
            required
            value={currentPassword}
            onChange={(event) => setCurrent(event.target.value)}
          />
          <TextField
            label={t('settings.newPassword')}
            hint={t('auth.passwordHint')}
            type="password"
            autoComplete="new-password"
            required
            minLength={8}
            maxLength={128}
            value={newPassword}
            onChange={(event) => setNew(event.target.value)}
          />
          <FormError error={change.error} />
          <Button type="submit" busy={change.isPending} className="self-start">
            {t('settings.changePassword')}
          </Button>
        </Form>
      ) : (
        <p className="text-ink-3">{t('settings.noPassword')}</p>
      )}
    </Card>
  );
}

const THEMES: readonly ThemeChoice[] = ['system', 'light', 'dark'];

/** Takes effect here at once, and is saved with the account for other devices. */
function AppearanceCard({ settings }: { settings: Settings }) {
  const { t, i18n } = useTranslation();
  const { choice, choose } = useTheme();
  const save = useSaveSettings();
  return (
    <Card title={t('settings.appearance')}>
      <div className="flex flex-col gap-4">
        <SelectField
          label={t('settings.language')}
          value={i18n.language}
          onChange={(event) => {
            // Only languages of the table are offered.
            const language = event.target.value as Language;
            void chooseLanguage(language);
            if (language !== settings.language) save.mutate({ language });
          }}
        >
          {Object.entries(LANGUAGES).map(([code, name]) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </SelectField>
        <div className="flex flex-col gap-1.5">
          <span className="text-sm font-medium text-ink-2">{t('theme.label')}</span>
          <div>
            <Segments
              label={t('theme.label')}
              value={choice}
              onChange={(next) => {
                choose(next);
                save.mutate({ theme: next });
              }}
              options={THEMES.map((value) => ({ value, label: t(`theme.${value}`) }))}
            />
          </div>
        </div>
      </div>
    </Card>
  );
}

function WarningCard({ settings }: { settings: Settings }) {
  const { t } = useTranslation();
  const [text, setText] = useState(settings.lowBalanceUsd ?? '');
  const save = useSaveSettings();
  const amount = text.trim() === '' ? null : parseUsd(text);
  const wrong = amount === undefined || amount?.startsWith('-') === true;
  return (
    <Card title={t('settings.warning')}>
      <Form
        onSubmit={() => {
          if (!wrong) save.mutate({ lowBalanceUsd: amount });
        }}
      >
        <p className="text-ink-2">{t('settings.warningLead')}</p>
        <TextField
          label={t('settings.threshold')}
          hint={t('settings.thresholdOff')}
          error={wrong ? t('settings.badAmount') : undefined}
          inputMode="decimal"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <FormError error={save.error} />
        <Button type="submit" busy={save.isPending} disabled={wrong} className="self-start">
          {t('common.save')}
        </Button>
      </Form>
    </Card>
  );
}

/** Off, nothing more is stored, and what is there is deleted. */
function StoredResponsesCard({ settings }: { settings: Settings }) {
  const { t } = useTranslation();
  const save = useSaveSettings();
  return (
    <Card title={t('settings.responses')}>
      <div className="flex flex-col gap-4">
        <p className="text-ink-2">{t('settings.responsesLead')}</p>
        <Switch
          label={t('settings.responsesStored')}
          checked={settings.storesResponses}
          onChange={(storesResponses) => save.mutate({ storesResponses })}
        />
        <FormError error={save.error} />
      </div>
    </Card>
  );
}

function ExportCard() {
  const { t } = useTranslation();
  return (
    <Card title={t('settings.export')}>
      <div className="flex flex-col gap-4">
        <p className="text-ink-2">{t('settings.exportLead')}</p>
        <a
          href={urlOf('GET /api/console/export')}
          download
          className="inline-flex h-9 items-center gap-2 self-start rounded-md border border-line bg-surface px-3 font-medium hover:bg-hover"
        >
          <Download size={16} aria-hidden />
          {t('settings.exportGo')}
        </a>
      </div>
    </Card>
  );
}
