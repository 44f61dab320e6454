import type { TFunction } from 'i18next';
import type { SchemaProblem } from './schemaCheck.ts';

/** What is wrong with a schema, in a sentence. */
export function problemText({ kind, path, detail }: SchemaProblem, t: TFunction): string {
  if (kind === 'notJson' && detail !== '') {
    const [line, column] = detail.split(':');
    return t('structured.problem.notJsonAt', { line, column });
  }
  return t(`structured.problem.${kind}`, { path: path || t('structured.whole'), detail });
}
