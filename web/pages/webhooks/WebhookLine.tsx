import { useState } from 'react';
import type { WebhookItem } from '../../lib/answers.ts';
import { useAction } from '../../lib/action.ts';
import { formatRelative, formatTime, useNow } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { AskDialog } from '../../ui/Dialog.tsx';
import { Badge, type Tone } from '../../ui/Badge.tsx';
import { Button } from '../../ui/Button.tsx';
import { FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { type WebhookCalls, useEventName } from './calls.ts';

interface WebhookLineProps {
  readonly item: WebhookItem;
  readonly calls: WebhookCalls;
  readonly onSecret: (secret: string) => void;
}

type State = 'ok' | 'unused' | 'failing' | 'paused';
const TONES: Record<State, Tone> = { ok: 'good', unused: 'neutral', failing: 'warn', paused: 'bad' };

function stateOf({ paused, failingSince, lastAt }: WebhookItem): State {
  if (paused) return 'paused';
  if (failingSince !== null) return 'failing';
  return lastAt === null ? 'unused' : 'ok';
}

export function WebhookLine({ item, calls, onSecret }: WebhookLineProps) {
  const { t, i18n } = useTranslation();
  const eventName = useEventName();
  const now = useNow();
  const state = stateOf(item);
  const isChat = item.format !== 'standard';
  return (
    <li className="flex flex-col gap-2 px-5 py-4">
      <div className="flex flex-wrap items-center gap-2">
        <code className="min-w-0 flex-1 basis-60 break-all">{item.url}</code>
        {isChat ? <Badge tone="neutral">{t(`webhooks.format.${item.format}`)}</Badge> : null}
        <Badge tone={TONES[state]}>{t(`webhooks.state.${state}`)}</Badge>
      </div>
      <p className="text-sm text-ink-3">
        {item.events.map(eventName).join(', ')} · {t(isChat ? 'webhooks.addressEnds' : 'webhooks.secret')}{' '}
        <code>{item.hint}</code>
      </p>
      {item.oldUntil !== null && item.oldUntil > now ? (
        <p className="text-sm text-ink-3">
          {t('webhooks.bothUntil', { when: formatTime(item.oldUntil, i18n.language, 'short') })}
        </p>
      ) : null}
      {item.paused ? (
        <p className="text-sm text-bad">{t('webhooks.pausedBecause', { reason: item.paused.reason })}</p>
      ) : item.failingSince === null ? null : (
        <p className="text-sm text-warn">
          {t('webhooks.failingBecause', {
            when: formatRelative(item.failingSince, now, i18n.language),
            reason: item.lastError ?? '',
          })}
        </p>
      )}
      <Actions item={item} calls={calls} onSecret={onSecret} />
    </li>
  );
}

function Actions({ item, calls, onSecret }: WebhookLineProps) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState<'rotate' | 'remove'>();
  const refresh = [calls.list];
  const test = useAction(async () => await calls.test(item.id), {
    refresh,
    onDone: ({ error, ms, status }) =>
      error === null
        ? toast(t('webhooks.testOk', { ms, status }))
        : toast(t('webhooks.testFailed', { error }), 'bad'),
  });
  const resume = useAction(async () => await calls.resume(item.id), {
    refresh,
    onDone: () => toast(t('webhooks.resumed')),
  });
  const rotate = useAction(async () => await calls.rotate(item.id), {
    refresh,
    onDone: ({ secret }) => onSecret(secret),
  });
  const remove = useAction(async () => await calls.remove(item.id), {
    refresh,
    onDone: () => toast(t('webhooks.deleted')),
  });
  return (
    <div className="flex flex-wrap gap-2">
      <Button small busy={test.isPending} onClick={() => test.mutate()}>
        {t('webhooks.test')}
      </Button>
      {item.paused ? (
        <Button small busy={resume.isPending} onClick={() => resume.mutate()}>
          {t('webhooks.resume')}
        </Button>
      ) : null}
      {item.format === 'standard' ? (
        <Button small kind="ghost" busy={rotate.isPending} onClick={() => setAsking('rotate')}>
          {t('webhooks.rotate')}
        </Button>
      ) : null}
      <Button small kind="ghost" busy={remove.isPending} onClick={() => setAsking('remove')}>
        {t('common.delete')}
      </Button>
      <FormError error={test.error ?? resume.error ?? rotate.error ?? remove.error} />
      <AskDialog
        open={asking === 'rotate'}
        kind="primary"
        title={t('webhooks.rotateTitle')}
        go={t('webhooks.rotate')}
        onGo={() => rotate.mutate()}
        onClose={() => setAsking(undefined)}
      >
        {t('webhooks.rotateLead')}
      </AskDialog>
      <AskDialog
        open={asking === 'remove'}
        title={t('webhooks.deleteTitle')}
        go={t('common.delete')}
        onGo={() => remove.mutate()}
        onClose={() => setAsking(undefined)}
      >
        {t('webhooks.deleteLead')}
      </AskDialog>
    </div>
  );
}
