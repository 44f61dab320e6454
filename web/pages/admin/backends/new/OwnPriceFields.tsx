import { useTranslation } from '../../../../lib/translation.tsx';
import { Check, Input } from '../../../../ui/Field.tsx';
import { amountOf } from '../../prices/edits.ts';
import { PRICE_ROWS, type EnteredPrices, type PriceProblem } from './prices.ts';

interface OwnPriceFieldsProps {
  readonly prices: EnteredPrices;
  readonly onChange: (prices: EnteredPrices) => void;
  readonly problem: PriceProblem | undefined;
}

const KINDS = ['chat', 'embedding', 'image'] as const;
const ABILITIES = ['tools', 'vision', 'reasoning'] as const;

/** Fields for the price and the cost of each kind of model, and for the abilities of chat models where nobody knows them. */
export function OwnPriceFields({ prices, onChange, problem }: OwnPriceFieldsProps) {
  const { t } = useTranslation();
  const { isFree, can } = prices;
  return (
    <div className="flex flex-col gap-4">
      <PriceTable prices={prices} onChange={onChange} />
      <Check
        label={t('newBackend.free')}
        checked={isFree}
        onChange={(event) => onChange({ ...prices, isFree: event.target.checked })}
      />
      <fieldset className="flex flex-wrap gap-x-5 gap-y-2">
        <legend className="mb-1.5 text-sm font-medium text-ink-2">{t('newBackend.can')}</legend>
        {ABILITIES.map((ability) => (
          <Check
            key={ability}
            label={t(`newBackend.abilities.${ability}`)}
            checked={can[ability]}
            onChange={(event) => onChange({ ...prices, can: { ...can, [ability]: event.target.checked } })}
          />
        ))}
      </fieldset>
      {problem ? (
        <p role="alert" className="text-sm text-bad">
          {t(`newBackend.problem.${problem}`)}
        </p>
      ) : null}
    </div>
  );
}

type PriceTableProps = Pick<OwnPriceFieldsProps, 'prices' | 'onChange'>;

function PriceTable({ prices, onChange }: PriceTableProps) {
  const { t } = useTranslation();
  return (
    <table className="w-fit max-w-full border-collapse text-left text-sm">
      <thead>
        <tr className="text-ink-3">
          <th scope="col" className="pr-4 pb-1 font-normal">
            <span className="sr-only">{t('models.kind')}</span>
          </th>
          <th scope="col" className="pr-4 pb-1 font-normal">
            {t('newBackend.youCharge')}
          </th>
          <th scope="col" className="pb-1 font-normal">
            {t('newBackend.itCosts')}
          </th>
        </tr>
      </thead>
      <tbody>
        {KINDS.map((kind) => (
          <tr key={kind} className="max-sm:flex max-sm:flex-wrap max-sm:gap-2 max-sm:py-2">
            <th scope="row" className="py-1.5 pr-4 align-middle font-normal max-sm:w-full">
              {t(`newBackend.rows.${kind}`)}
            </th>
            <td className="py-1.5 pr-4">
              <Amounts kind={kind} of="price" prices={prices} onChange={onChange} />
            </td>
            <td className="py-1.5">
              <Amounts kind={kind} of="cost" prices={prices} onChange={onChange} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface AmountsProps extends PriceTableProps {
  readonly kind: (typeof KINDS)[number];
  readonly of: 'price' | 'cost';
}

function Amounts({ kind, of, prices, onChange }: AmountsProps) {
  const { t } = useTranslation();
  return (
    <span className="flex gap-2">
      {PRICE_ROWS[kind].map((part) => {
        const text = prices[of][part];
        return (
          <span key={part} className="w-24 min-w-0">
            <Input
              aria-label={t(`newBackend.${of}Of.${part}`)}
              aria-invalid={(text.trim() !== '' && amountOf(text) === undefined) || undefined}
              inputMode="decimal"
              placeholder={of === 'cost' ? t('priceTable.unknown') : undefined}
              disabled={prices.isFree}
              value={text}
              onChange={(event) =>
                onChange({ ...prices, [of]: { ...prices[of], [part]: event.target.value } })
              }
            />
          </span>
        );
      })}
    </span>
  );
}
