import type { ModelItem } from '../../lib/answers.ts';
import { addUsd } from '../../lib/money.ts';
import { formatCount } from '../../lib/numbers.ts';
import { Code } from '../../ui/Code.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Money } from '../../ui/Money.tsx';
import { publicOrigin } from '../../lib/browser.ts';
import { useTranslation } from '../../lib/translation.tsx';

const INPUT = 1204;
const OUTPUT = 386;
const PER_PRICE = 1_000_000n;

/** The product in one picture: a request goes in, a receipt comes out, computed from a price of this very server. */
export function Sample({ models }: { models: readonly ModelItem[] }) {
  const { t } = useTranslation();
  const usable = models.filter((model) => model.type === 'chat_completion' && !model.unavailable);
  const model = usable.find((candidate) => !candidate.free && candidate.price.kind === 'tokens') ?? usable[0];
  return (
    <section className="grid items-stretch gap-5 pb-14 lg:grid-cols-[1.25fr_1fr] lg:gap-0">
      <div className="min-w-0">
        <p className="mb-2 text-sm text-ink-3">{t('public.sampleIn')}</p>
        <Code
          label={t('public.sampleIn')}
          className="lg:rounded-r-none"
          code={curl(model?.endpoint ?? 'svc_chat', model?.model ?? 'house-guide')}
        />
      </div>
      <div className="min-w-0">
        <p className="mb-2 text-sm text-ink-3 lg:pl-6">{t('public.sampleOut')}</p>
        {model?.price.kind === 'tokens' ? <Receipt model={model} price={model.price} /> : null}
      </div>
    </section>
  );
}

function Receipt({ model, price }: { model: ModelItem; price: ModelItem['price'] & { kind: 'tokens' } }) {
  const { t, i18n } = useTranslation();
  const count = (value: number): string => formatCount(value, i18n.language);
  const input = times(price.inputUsd, INPUT);
  const output = times(price.outputUsd, OUTPUT);
  return (
    <div className="flex h-[calc(100%-1.75rem)] flex-col rounded-md border border-line bg-surface px-5 py-4 lg:rounded-l-none lg:border-l-0">
      <p className="truncate font-mono text-sm">
        {model.endpoint}/{model.model}
      </p>
      <dl className="mt-4 flex flex-1 flex-col gap-2 text-sm">
        <LedgerLine
          label={`${count(INPUT)} ${t('receipt.input', { count: INPUT })}`}
          value={<Money usd={input} plain exact />}
        />
        <LedgerLine
          label={`${count(OUTPUT)} ${t('receipt.output', { count: OUTPUT })}`}
          value={<Money usd={output} plain exact />}
        />
        <LedgerLine
          label={t('public.charged')}
          value={<Money usd={addUsd(input, output)} plain exact />}
          className="mt-auto border-t border-line pt-3 text-lg font-semibold"
        />
      </dl>
      <p className="mt-3 text-sm text-ink-3">{t('public.sampleNote', { model: model.displayName })}</p>
    </div>
  );
}

/** Nano-dollars per million tokens × tokens, rounded up as the ledger does. */
function times(usdPerMillion: string, tokens: number): string {
  return fromNano((toNano(usdPerMillion) * BigInt(tokens) + PER_PRICE - 1n) / PER_PRICE);
}

function toNano(usd: string): bigint {
  const [whole = '0', fraction = ''] = usd.split('.');
  return BigInt(whole + fraction.slice(0, 9).padEnd(9, '0'));
}

function fromNano(nano: bigint): string {
  const digits = nano.toString().padStart(10, '0');
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

function curl(endpoint: string, model: string): string {
  return `curl ${publicOrigin()}/api/public/v1/chat/completions \\
  -H "Authorization: Bearer $TOLLGATE_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{
    "endpoint": "${endpoint}",
    "model": "${model}",
    "messages": [
      { "role": "user", "content": "What is a hold?" }
    ]
  }'`;
}
