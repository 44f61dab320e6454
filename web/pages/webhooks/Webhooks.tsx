import { useState } from 'react';
import type { Answer } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { useApi } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { Check, TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { Empty, FormError, Loaded, SkeletonRows } from '../../ui/States.tsx';
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
            {list.items.length < list.max ? (
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

function AddWebhook({ calls, events, urlHint, onSecret }: AddWebhookProps) {
  const { t } = useTranslation();
  const eventName = useEventName();
  const [url, setUrl] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>(events);
  const add = useAction(async () => await calls.add({ url: url.trim(), events: [...chosen] }), {
    refresh: [calls.list],
    onDone: (made) => {
      setUrl('');
      onSecret(made.secret);
    },
  });
  return (
    <Card title={t('webhooks.add')}>
      <Form onSubmit={() => add.mutate()}>
        <TextField
          label={t('webhooks.url')}
          hint={urlHint}
          required
          inputMode="url"
          autoComplete="off"
          placeholder="https://example.com/hook"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
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
