import { useState, type ChangeEvent } from 'react';

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

interface Form<Values> {
  readonly values: Values;
  /** What a control needs for one field: its value and its handler. */
  readonly field: <Name extends keyof Values>(
    name: Name,
  ) => { value: Values[Name]; onChange: (event: ChangeEvent<Control>) => void };
  readonly reset: () => void;
}

/** A form whose fields are all text; numbers and amounts are read from it when it is sent. */
export function useForm<Values extends Record<string, string>>(initial: Values): Form<Values> {
  const [values, setValues] = useState(initial);
  return {
    values,
    field: (name) => ({
      value: values[name],
      onChange: (event) => {
        const { value } = event.target;
        setValues((before) => ({ ...before, [name]: value }));
      },
    }),
    reset: () => setValues(initial),
  };
}
