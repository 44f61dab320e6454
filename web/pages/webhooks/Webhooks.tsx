import { useState } from 'react';
import type { Answer } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { useApi } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { Check, SelectField, TextField } from '../../ui/Field.tsx';
import { Form, useShownOnly } from '../../ui/Form.tsx';
import { Empty, FormError, Loaded, SkeletonRows } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { SecretDialog } from '../admin/SecretDialog.tsx';
import { type WebhookCalls, useEventName } from './calls.ts';
import { WebhookLine } from './WebhookLine.tsx';

type WebhookList = Answer<'GET /api/console/webhooks'>;

interface WebhooksProps {
  readonly calls: WebhookCalls;
  readonly urlHint: string;
}

export function Webhooks({ calls, urlHint }: WebhooksProps) {
  const { t } = useTranslation();
  const webhooks = useApi(calls.list);
  const isShownOnly = useShownOnly();
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <Loaded query={webhooks} skeleton={<SkeletonRows rows={3} />}>
        {(list: WebhookList) => (
          <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_22rem]">
            <Card flush title={t('webhooks.title')}>
              {list.items.length === 0 ? (
                <Empty compact title={t('webhooks.empty')}>
                  {t('webhooks.emptyLead')}
                </Empty>
              ) : (
                <ul className="divide-y divide-line">
                  {list.items.map((item) => (
                    <WebhookLine key={item.id} item={item} calls={calls} onSecret={setSecret} />
                  ))}
                </ul>
              )}
            </Card>
            {isShownOnly ? null : list.items.length < list.max ? (
              <AddWebhook calls={calls} events={list.events} urlHint={urlHint} onSecret={setSecret} />
            ) : (
              <p className="text-ink-3">{t('webhooks.full', { count: list.max })}</p>
            )}
          </div>
        )}
      </Loaded>
      {secret === undefined ? null : (
        <SecretDialog
          title={t('webhooks.secretTitle')}
          lead={t('webhooks.secretLead')}
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  );
}

interface AddWebhookProps extends WebhooksProps {
  readonly events: readonly string[];
  readonly onSecret: (secret: string) => void;
}

const FORMATS = ['standard', 'slack', 'discord', 'teams', 'telegram'] as const;
type Format = (typeof FORMATS)[number];

const EXAMPLES: Readonly<Record<Exclude<Format, 'telegram'>, string>> = {
  standard: 'https://example.com/hook',
  slack: 'https://hooks.slack.com/services/…',
  discord: 'https://discord.com/api/webhooks/…',
  teams: 'https://….logic.azure.com/workflows/…',
};

/** A bot writes into a chat: together they are the address. */
const TELEGRAM = 'https://api.telegram.org/bot';

interface Address {
  readonly url: string;
  readonly botToken: string;
  readonly chat: string;
}

const NO_ADDRESS: Address = { url: '', botToken: '', chat: '' };

function addressOf(format: Format, { url, botToken, chat }: Address): string {
  if (format !== 'telegram') return url.trim();
  const path = encodeURIComponent(botToken.trim()).replaceAll('%3A', ':');
  return `${TELEGRAM}${path}/sendMessage?chat_id=${encodeURIComponent(chat.trim())}`;
}

function AddWebhook({ calls, events, urlHint, onSecret }: AddWebhookProps) {
  const { t, i18n } = useTranslation();
  const eventName = useEventName();
  const [format, setFormat] = useState<Format>('standard');
  const [address, setAddress] = useState(NO_ADDRESS);
  const [chosen, setChosen] = useState<readonly string[]>(events);
  const language = i18n.language.startsWith('de') ? 'de' : 'en';
  const add = useAction(
    async () => await calls.add({ url: addressOf(format, address), events: [...chosen], format, language }),
    {
      refresh: [calls.list],
      onDone: ({ secret }) => {
        setAddress(NO_ADDRESS);
        if (secret === null) toast(t('webhooks.added'));
        else onSecret(secret);
      },
    },
  );
  return (
    <Card title={t('webhooks.add')}>
      <Form onSubmit={() => add.mutate()}>
        <SelectField
          label={t('webhooks.sendTo')}
          value={format}
          onChange={({ target }) => setFormat(FORMATS.find((one) => one === target.value) ?? 'standard')}
        >
          {FORMATS.map((one) => (
            <option key={one} value={one}>
              {t(`webhooks.format.${one}`)}
            </option>
          ))}
        </SelectField>
        <AddressFields format={format} urlHint={urlHint} address={address} onChange={setAddress} />
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-1.5 text-sm font-medium text-ink-2">{t('webhooks.events')}</legend>
          {events.map((event) => (
            <Check
              key={event}
              label={eventName(event)}
              checked={chosen.includes(event)}
              onChange={({ target }) =>
                setChosen(target.checked ? [...chosen, event] : chosen.filter((one) => one !== event))
              }
            />
          ))}
        </fieldset>
        <FormError error={add.error} />
        <Button
          type="submit"
          kind="primary"
          busy={add.isPending}
          disabled={chosen.length === 0}
          className="self-start"
        >
          {t('webhooks.add')}
        </Button>
      </Form>
    </Card>
  );
}

interface AddressFieldsProps {
  readonly format: Format;
  readonly urlHint: string;
  readonly address: Address;
  readonly onChange: (address: Address) => void;
}

function AddressFields({ format, urlHint, address, onChange }: AddressFieldsProps) {
  const { t } = useTranslation();
  const shared = { required: true, autoComplete: 'off', spellCheck: false } as const;
  if (format !== 'telegram')
    return (
      <TextField
        {...shared}
        label={t('webhooks.url')}
        hint={format === 'standard' ? urlHint : t(`webhooks.formatHint.${format}`)}
        inputMode="url"
        placeholder={EXAMPLES[format]}
        value={address.url}
        onChange={({ target }) => onChange({ ...address, url: target.value })}
      />
    );
  return (
    <>
      <TextField
        {...shared}
        label={t('webhooks.botToken')}
        hint={t('webhooks.botTokenHint')}
        placeholder="123456789:AA…"
        value={address.botToken}
        onChange={({ target }) => onChange({ ...address, botToken: target.value })}
      />
      <TextField
        {...shared}
        label={t('webhooks.chat')}
        hint={t('webhooks.chatHint')}
        placeholder="-1001234567890"
        value={address.chat}
        onChange={({ target }) => onChange({ ...address, chat: target.value })}
      />
    </>
  );
}
