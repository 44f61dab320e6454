import { useRef, useState } from 'react';
import type { SignUpMode } from '../../../../src/console/contract.ts';
import type { Answer } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call, useApi } from '../../../lib/api.ts';
import { useForm } from '../../../lib/form.ts';
import { approximate, formatUsd } from '../../../lib/money.ts';
import { useSession } from '../../../lib/session.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Field, Textarea, TextField, Switch } from '../../../ui/Field.tsx';
import { Changeable, Form, useShownOnly } from '../../../ui/Form.tsx';
import { FormError, Loaded, Skeleton } from '../../../ui/States.tsx';
import { toast } from '../../../ui/Toast.tsx';

type AdminSettings = Answer<'GET /api/console/admin/settings'>;
type AdminPublicPages = Answer<'GET /api/console/admin/public-pages'>;
type AttentionSettings = Answer<'GET /api/console/admin/attention-settings'>;
type AdminWelcomeCredit = Answer<'GET /api/console/admin/welcome-credit'>;

const MODES: readonly SignUpMode[] = ['open', 'invite', 'closed'];

export default function AdminSettingsPage() {
  const { t } = useTranslation();
  const settings = useApi('GET /api/console/admin/settings', undefined, { staleTime: Infinity });
  return (
    <Page title={t('adminSettings.title')}>
      <Changeable right="change_settings">
        <Loaded query={settings} skeleton={<Skeleton className="h-96 w-full rounded-lg" />}>
          {(data) => <SettingsForm settings={data} />}
        </Loaded>
        <WelcomeCreditCard />
        <AttentionCard />
        <PublicPagesCard />
      </Changeable>
    </Page>
  );
}

function SettingsForm({ settings }: { settings: AdminSettings }) {
  const { t } = useTranslation();
  const [signUp, setSignUp] = useState(settings.signUp);
  const { values, field } = useSettingsForm(settings);
  const perUsd = values.perUsd.trim().replace(',', '.');
  const wrongRate = !/^\d{1,9}(\.\d{1,9})?$/.test(perUsd);
  const save = useAction(
    async () => {
      const currency = { code: values.code.trim().toUpperCase(), perUsd };
      const { siteName, topUpHint, contact } = values;
      const topUpAmounts = values.topUpAmounts.trim().split(/\s+/);
      const site = { siteName: siteName.trim(), topUpHint, topUpAmounts, contact: contact.trim() };
      const issuer = {
        name: values.issuerName.trim(),
        address: values.issuerAddress.trim(),
        taxId: values.issuerTaxId.trim(),
      };
      const body = { ...site, signUp, issuer, currency };
      return await call('PATCH /api/console/admin/settings', { body });
    },
    {
      refresh: ['GET /api/console/admin/settings', 'GET /api/console/session'],
      onDone: () => toast(t('common.saved')),
    },
  );
  return (
    <Form className="flex flex-col gap-5" onSubmit={() => !wrongRate && save.mutate()}>
      <SiteCard field={field} />
      <IssuerCard field={field} />
      <LogoCard />
      <Card title={t('adminSettings.signUp')}>
        <SignUpChoice value={signUp} onChange={setSignUp} />
      </Card>
      <Card title={t('adminSettings.currency')} hint={t('adminSettings.currencyHint')}>
        <div className="grid max-w-xl grid-cols-2 gap-3">
          <TextField
            label={t('adminSettings.code')}
            required
            pattern="[A-Za-z]{3}"
            maxLength={3}
            {...field('code')}
          />
          <TextField
            label={t('adminSettings.rate')}
            inputMode="decimal"
            required
            error={wrongRate ? t('adminSettings.badRate') : undefined}
            {...field('perUsd')}
          />
        </div>
      </Card>
      <FormError error={save.error} />
      <Button type="submit" kind="primary" busy={save.isPending} disabled={wrongRate} className="self-start">
        {t('common.save')}
      </Button>
    </Form>
  );
}

function useSettingsForm(settings: AdminSettings) {
  const { siteName, topUpHint, topUpAmounts, contact, issuer, currency } = settings;
  const amounts = topUpAmounts.join(' ');
  const names = { issuerName: issuer.name, issuerAddress: issuer.address, issuerTaxId: issuer.taxId };
  return useForm({ siteName, topUpHint, topUpAmounts: amounts, contact, ...names, ...currency });
}

function SiteCard({ field }: { field: ReturnType<typeof useSettingsForm>['field'] }) {
  const { t } = useTranslation();
  return (
    <Card title={t('adminSettings.site')}>
      <div className="flex max-w-xl flex-col gap-4">
        <TextField label={t('adminSettings.siteName')} required maxLength={60} {...field('siteName')} />
        <TextField
          label={t('adminSettings.contact')}
          hint={t('adminSettings.contactHint')}
          maxLength={200}
          {...field('contact')}
        />
        <Field label={t('adminSettings.topUpHint')} hint={t('adminSettings.topUpHintHint')}>
          {(ids) => <Textarea {...ids} rows={3} maxLength={1000} {...field('topUpHint')} />}
        </Field>
        <TextField
          label={t('adminSettings.topUpAmounts')}
          hint={t('adminSettings.topUpAmountsHint')}
          required
          maxLength={80}
          {...field('topUpAmounts')}
        />
      </div>
    </Card>
  );
}

function IssuerCard({ field }: { field: ReturnType<typeof useSettingsForm>['field'] }) {
  const { t } = useTranslation();
  return (
    <Card title={t('adminSettings.issuer')} hint={t('adminSettings.issuerHint')}>
      <div className="flex max-w-xl flex-col gap-4">
        <TextField label={t('adminSettings.issuerName')} maxLength={100} {...field('issuerName')} />
        <Field label={t('adminSettings.issuerAddress')}>
          {(ids) => <Textarea {...ids} rows={3} maxLength={300} {...field('issuerAddress')} />}
        </Field>
        <TextField label={t('adminSettings.issuerTaxId')} maxLength={50} {...field('issuerTaxId')} />
      </div>
    </Card>
  );
}

/** In pixels; sharp at its size on paper. */
const LOGO = { width: 900, height: 288 };

/** The picture on statements: whatever the browser can read, as the JPEG that a PDF can hold. */
function LogoCard() {
  const { t } = useTranslation();
  const logo = useApi('GET /api/console/admin/logo', undefined, { staleTime: Infinity });
  const input = useRef<HTMLInputElement>(null);
  const save = useAction(
    async (file: File | undefined) =>
      await call('PUT /api/console/admin/logo', {
        body: { jpeg: file ? await logoOf(file, t('adminSettings.logoFailed')) : '' },
      }),
    { refresh: ['GET /api/console/admin/logo'], onDone: () => toast(t('common.saved')) },
  );
  return (
    <Card title={t('adminSettings.logo')} hint={t('adminSettings.logoHint')}>
      <Loaded query={logo} skeleton={<Skeleton className="h-16 w-64" />}>
        {({ jpeg }) => (
          <div className="flex flex-wrap items-center gap-3">
            {jpeg === '' ? (
              <span className="text-ink-3">{t('adminSettings.noLogo')}</span>
            ) : (
              <img
                src={`data:image/jpeg;base64,${jpeg}`}
                alt={t('adminSettings.logo')}
                className="max-h-16 rounded-md border border-line"
              />
            )}
            <input
              ref={input}
              type="file"
              accept="image/*"
              aria-label={t('adminSettings.logoChoose')}
              hidden
              onChange={(event) => {
                const [file] = event.target.files ?? [];
                event.target.value = '';
                if (file) save.mutate(file);
              }}
            />
            <Button busy={save.isPending} onClick={() => input.current?.click()}>
              {t('adminSettings.logoChoose')}
            </Button>
            {jpeg === '' ? null : (
              <Button kind="ghost" disabled={save.isPending} onClick={() => save.mutate(undefined)}>
                {t('adminSettings.logoRemove')}
              </Button>
            )}
          </div>
        )}
      </Loaded>
      <FormError error={save.error} />
    </Card>
  );
}

/** In base64, on white: paper is not transparent. */
async function logoOf(file: File, failed: string): Promise<string> {
  const picture = new Image();
  const url = URL.createObjectURL(file);
  try {
    picture.src = url;
    await picture.decode().catch(() => {
      throw new Error(failed);
    });
    // A drawing may have no size of its own.
    const [width, height] = [picture.naturalWidth || LOGO.width, picture.naturalHeight || LOGO.height];
    const scale = Math.min(LOGO.width / width, LOGO.height / height);
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    const context = canvas.getContext('2d');
    if (!context) throw new Error('this browser has no canvas');
    context.fillStyle = 'white';
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL('image/jpeg', 0.88).split(',')[1] ?? '';
  } finally {
    URL.revokeObjectURL(url);
  }
}

function SignUpChoice({ value, onChange }: { value: SignUpMode; onChange: (mode: SignUpMode) => void }) {
  const { t } = useTranslation();
  if (useShownOnly()) return <p>{t(`adminSettings.${value}`)}</p>;
  return (
    <fieldset className="flex flex-col gap-2.5">
      <legend className="sr-only">{t('adminSettings.signUp')}</legend>
      {MODES.map((mode) => (
        <label key={mode} className="inline-flex cursor-pointer items-center gap-2.5">
          <input
            type="radio"
            name="sign-up"
            className="size-4 accent-accent"
            checked={value === mode}
            onChange={() => onChange(mode)}
          />
          {t(`adminSettings.${mode}`)}
        </label>
      ))}
    </fieldset>
  );
}

const MAX_WELCOME_USD = 100;

/** The credit for new customers. It is money, so it is saved separately and asks for the password. */
function WelcomeCreditCard() {
  const { t } = useTranslation();
  const settings = useApi('GET /api/console/admin/welcome-credit', undefined, { staleTime: Infinity });
  return (
    <Card title={t('welcome.title')} hint={t('welcome.hint')}>
      <Loaded query={settings} skeleton={<Skeleton className="h-24 w-full" />}>
        {(data) => <WelcomeCreditForm settings={data} />}
      </Loaded>
    </Card>
  );
}

function WelcomeCreditForm({ settings }: { settings: AdminWelcomeCredit }) {
  const { t, i18n } = useTranslation();
  const sendsMail = useSession().data?.sendsMail ?? true;
  const { values, field } = useForm({ amountUsd: settings.amountUsd, perDay: String(settings.perDay) });
  const amountUsd = values.amountUsd.trim().replace(',', '.');
  const isWrong = !/^\d{1,3}(\.\d{1,9})?$/.test(amountUsd) || Number(amountUsd) > MAX_WELCOME_USD;
  const save = useAction(
    () =>
      call('PUT /api/console/admin/welcome-credit', { body: { amountUsd, perDay: Number(values.perDay) } }),
    {
      refresh: ['GET /api/console/admin/welcome-credit'],
      onDone: (saved) =>
        toast(
          approximate(saved.amountUsd) === 0
            ? t('welcome.off')
            : t('welcome.on', { amount: formatUsd(saved.amountUsd, i18n.language) }),
        ),
    },
  );
  return (
    <Form className="flex flex-col gap-4" onSubmit={() => !isWrong && save.mutate()}>
      <div className="grid max-w-xl gap-3 sm:grid-cols-2">
        <TextField
          label={t('welcome.amount')}
          hint={t('welcome.amountHint')}
          inputMode="decimal"
          required
          error={isWrong ? t('welcome.badAmount') : undefined}
          {...field('amountUsd')}
        />
        <TextField
          label={t('welcome.perDay')}
          hint={t('welcome.perDayHint')}
          type="number"
          min={1}
          max={10_000}
          required
          {...field('perDay')}
        />
      </div>
      {sendsMail ? null : <p className="text-sm text-warn">{t('welcome.noMail')}</p>}
      <FormError error={save.error} />
      <Button type="submit" busy={save.isPending} disabled={isWrong} className="self-start">
        {t('common.save')}
      </Button>
    </Form>
  );
}

/** From which sum on a loss is on the overview's list of what needs attention, and in a webhook. */
function AttentionCard() {
  const { t } = useTranslation();
  const settings = useApi('GET /api/console/admin/attention-settings', undefined, { staleTime: Infinity });
  return (
    <Card title={t('attentionSettings.title')} hint={t('attentionSettings.hint')}>
      <Loaded query={settings} skeleton={<Skeleton className="h-24 w-full" />}>
        {(data) => <AttentionForm settings={data} />}
      </Loaded>
    </Card>
  );
}

function AttentionForm({ settings }: { settings: AttentionSettings }) {
  const { t } = useTranslation();
  const { values, field } = useForm({ lossUsd: settings.lossUsd });
  const lossUsd = values.lossUsd.trim().replace(',', '.');
  const isWrong = !/^\d{1,6}(\.\d{1,9})?$/.test(lossUsd);
  const save = useAction(() => call('PUT /api/console/admin/attention-settings', { body: { lossUsd } }), {
    refresh: ['GET /api/console/admin/attention-settings', 'GET /api/console/admin/attention'],
    onDone: () => toast(t('common.saved')),
  });
  return (
    <Form className="flex flex-col gap-4" onSubmit={() => !isWrong && save.mutate()}>
      <TextField
        label={t('attentionSettings.loss')}
        hint={t('attentionSettings.lossHint')}
        inputMode="decimal"
        required
        error={isWrong ? t('attentionSettings.badLoss') : undefined}
        {...field('lossUsd')}
        fieldClassName="w-full sm:w-64"
      />
      <FormError error={save.error} />
      <Button type="submit" busy={save.isPending} disabled={isWrong} className="self-start">
        {t('common.save')}
      </Button>
    </Form>
  );
}

/** Whether models, prices and status are public; the switch takes effect at once. */
function PublicPagesCard() {
  const { t } = useTranslation();
  const settings = useApi('GET /api/console/admin/public-pages', undefined, { staleTime: Infinity });
  return (
    <Card title={t('publicPages.title')} hint={t('publicPages.hint')}>
      <Loaded query={settings} skeleton={<Skeleton className="h-8 w-64" />}>
        {(data) => <PublicPagesSwitch settings={data} />}
      </Loaded>
    </Card>
  );
}

function PublicPagesSwitch({ settings }: { settings: AdminPublicPages }) {
  const { t } = useTranslation();
  const save = useAction((open: boolean) => call('PUT /api/console/admin/public-pages', { body: { open } }), {
    refresh: ['GET /api/console/admin/public-pages', 'GET /api/console/session'],
    onDone: ({ open }) => toast(t(open ? 'publicPages.opened' : 'publicPages.closed')),
  });
  return (
    <div className="flex flex-col gap-3">
      <Switch
        label={t('publicPages.switch')}
        checked={settings.open}
        disabled={save.isPending}
        onChange={(open) => save.mutate(open)}
      />
      <FormError error={save.error} />
    </div>
  );
}
