import { useState, type ComponentProps } from 'react';
import type { AdminBackendDetail } from '../../../../lib/answers.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { SelectField, TextField } from '../../../../ui/Field.tsx';
import { Form } from '../../../../ui/Form.tsx';
import { FormError } from '../../../../ui/States.tsx';
import { amountOf } from '../../prices/edits.ts';
import { useDraftEdit } from '../../draft/draft.ts';

const EMPTY = { model: '', input: '', output: '' };

/** Adds one model by its name, if the backend lists none or no list has its price. */
export function AddModel({ backend }: { backend: AdminBackendDetail }) {
  const { t } = useTranslation();
  const lists = tokenLists(backend);
  const [chosen, setChosen] = useState('');
  const [typed, setTyped] = useState(EMPTY);
  const edit = useDraftEdit(() => setTyped(EMPTY));
  const list = lists.includes(chosen) ? chosen : lists[0];
  if (list === undefined) return null;
  const [input, output] = [amountOf(typed.input), amountOf(typed.output)];
  const field = (name: keyof typeof EMPTY): Pick<ComponentProps<'input'>, 'value' | 'onChange'> => ({
    value: typed[name],
    onChange: (event) => setTyped({ ...typed, [name]: event.target.value }),
  });
  const errorOf = (text: string, amount: string | undefined) =>
    text !== '' && amount === undefined ? t('priceTable.badAmount') : undefined;
  const price = { required: true, inputMode: 'decimal', fieldClassName: 'w-36' } as const;
  return (
    <Form
      className="mt-4 flex flex-wrap items-start gap-3"
      onSubmit={() => {
        if (input !== undefined && output !== undefined)
          edit.mutate([{ kind: 'add_model', list, model: typed.model.trim(), input, output }]);
      }}
    >
      <TextField
        label={t('backendEdit.modelId')}
        required
        maxLength={200}
        pattern="\S+"
        autoComplete="off"
        fieldClassName="w-full sm:w-64"
        {...field('model')}
      />
      <TextField
        label={t('newBackend.priceOf.input')}
        error={errorOf(typed.input, input)}
        {...price}
        {...field('input')}
      />
      <TextField
        label={t('newBackend.priceOf.output')}
        error={errorOf(typed.output, output)}
        {...price}
        {...field('output')}
      />
      {lists.length > 1 ? <ListChoice lists={lists} value={list} onChange={setChosen} /> : null}
      <Button type="submit" busy={edit.isPending} className="sm:mt-6.5">
        {t('backendEdit.addModel')}
      </Button>
      <FormError error={edit.error} />
    </Form>
  );
}

/** Lists of models that are priced by the token. */
function tokenLists({ endpoints }: AdminBackendDetail): string[] {
  const chats = endpoints.filter(({ type }) => type !== 'image_generation');
  return [...new Set(chats.flatMap(({ lists }) => lists))];
}

interface ListChoiceProps {
  readonly lists: readonly string[];
  readonly value: string;
  readonly onChange: (list: string) => void;
}

function ListChoice({ lists, value, onChange }: ListChoiceProps) {
  const { t } = useTranslation();
  return (
    <SelectField
      label={t('backendEdit.list')}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      fieldClassName="w-full sm:w-48"
    >
      {lists.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}
