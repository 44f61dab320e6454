import { useState } from 'react';
import { useApi } from '../../lib/api.ts';
import { publicOrigin } from '../../lib/browser.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Code } from '../../ui/Code.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Check } from '../../ui/Field.tsx';
import { snippets } from '../quickstart/snippets.ts';

export interface MadeToken {
  readonly token: string;
  readonly name: string;
  /** Patterns of those it may use; null: all. */
  readonly models: readonly string[] | null;
}

/** The only time an app's token is shown, with a request that works as it stands. */
export function AppToken({ made, onClose }: { made: MadeToken; onClose: () => void }) {
  const { t } = useTranslation();
  const [isSaved, setSaved] = useState(false);
  const sample = useSample(made.models);
  return (
    <Dialog
      open
      insistent
      onClose={onClose}
      title={t('team.appMade', { name: made.name })}
      footer={
        <Button kind="primary" disabled={!isSaved} onClick={onClose}>
          {t('common.done')}
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <p className="text-ink-2">{t('team.appMadeLead')}</p>
        <code
          data-testid="token"
          className="block rounded-md border border-accent bg-accent-soft p-4 text-base break-all select-all"
        >
          {made.token}
        </code>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <CopyButton kind="primary" small={false} text={made.token} />
          <Check
            label={t('team.tokenTested')}
            checked={isSaved}
            onChange={(event) => setSaved(event.target.checked)}
          />
        </div>
        {sample ? (
          <div>
            <p className="mb-1.5 text-sm font-medium text-ink-2">{t('team.tryIt')}</p>
            <Code label={t('team.tryIt')} code={curl(made.token, sample)} />
          </div>
        ) : null}
      </div>
    </Dialog>
  );
}

interface Sample {
  readonly endpoint: string;
  readonly model: string;
}

function curl(token: string, { endpoint, model }: Sample): string {
  const filling = { origin: publicOrigin(), token, endpoint, model, image: null };
  return snippets('curl', filling).blocks[0]?.code ?? '';
}

/** A chat model that the token may use: the one that works right now, or else the first of the list. */
function useSample(patterns: MadeToken['models']): Sample | undefined {
  const working = useApi('GET /api/console/quickstart').data?.chat;
  const list = useApi('GET /api/console/models', { query: { wallet: 'team' } }).data;
  const isAllowed = ({ endpoint, model }: Sample): boolean =>
    patterns === null || patterns.some((pattern) => matches(pattern, `${endpoint}/${model}`));
  if (working && isAllowed(working)) return working;
  return list?.models.find(
    (one) => one.type === 'chat_completion' && one.unavailable === null && isAllowed(one),
  );
}

/** `*` stands for anything. */
function matches(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`).test(name);
}
