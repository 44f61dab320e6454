import type { Strings } from '../../../locales/en/index.ts';

type ActionTexts = Strings['audit']['actions'];

const OUTCOMES = ['refused', 'changed'] as const;

/** An action of the audit log in words; an unknown one, from a newer server, is shown as it is. */
export function actionText(
  action: string,
  texts: ActionTexts,
  detail: Readonly<Record<string, unknown>> = {},
): { text: string; outcome: (typeof OUTCOMES)[number] | undefined } {
  const outcome = OUTCOMES.find((one) => action.endsWith(`.${one}`));
  const done = outcome ? action.slice(0, -outcome.length - 1) : action;
  const [subject = '', ...rest] = done.split('.');
  const verbs: Readonly<Record<string, string>> | undefined = Object.hasOwn(texts, subject)
    ? texts[subject as keyof ActionTexts]
    : undefined;
  const name = rest.join('-');
  const said = answerOf(detail);
  return { text: (said && verbs?.[`${name}-${said.answer}`]) ?? verbs?.[name] ?? done, outcome };
}

/** The one thing that was switched on or off, which is told by the action itself. */
export function answerOf(
  detail: Readonly<Record<string, unknown>>,
): { readonly key: string; readonly answer: 'yes' | 'no' } | undefined {
  const [only, ...others] = Object.entries(detail).filter(([, value]) => typeof value === 'boolean');
  return only && others.length === 0 ? { key: only[0], answer: only[1] === true ? 'yes' : 'no' } : undefined;
}
