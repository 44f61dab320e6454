import type { Strings } from '../../../locales/en/index.ts';

type ActionTexts = Strings['audit']['actions'];

const REFUSED = '.refused';

/** An action of the audit log in words; an unknown one, from a newer server, is shown as it is. */
export function actionText(action: string, texts: ActionTexts): { text: string; isRefused: boolean } {
  const isRefused = action.endsWith(REFUSED);
  const done = isRefused ? action.slice(0, -REFUSED.length) : action;
  const [subject = '', ...rest] = done.split('.');
  const verbs: Readonly<Record<string, string>> | undefined = Object.hasOwn(texts, subject)
    ? texts[subject as keyof ActionTexts]
    : undefined;
  return { text: verbs?.[rest.join('-')] ?? done, isRefused };
}
