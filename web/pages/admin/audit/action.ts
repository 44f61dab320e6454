import type { Strings } from '../../../locales/en/index.ts';

type ActionTexts = Strings['audit']['actions'];

const OUTCOMES = ['refused', 'changed'] as const;

/** An action of the audit log in words; an unknown one, from a newer server, is shown as it is. */
export function actionText(
  action: string,
  texts: ActionTexts,
): { text: string; outcome: (typeof OUTCOMES)[number] | undefined } {
  const outcome = OUTCOMES.find((one) => action.endsWith(`.${one}`));
  const done = outcome ? action.slice(0, -outcome.length - 1) : action;
  const [subject = '', ...rest] = done.split('.');
  const verbs: Readonly<Record<string, string>> | undefined = Object.hasOwn(texts, subject)
    ? texts[subject as keyof ActionTexts]
    : undefined;
  return { text: verbs?.[rest.join('-')] ?? done, outcome };
}
