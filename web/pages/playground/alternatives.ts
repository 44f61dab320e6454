import type { ModelItem } from '../../lib/answers.ts';
import type { Turn } from './conversation.ts';

const MAX_ALTERNATIVES = 3;

/** Models that could answer instead: the same model elsewhere first, and only those that take what was attached. */
export function alternativesTo(
  failed: ModelItem,
  models: readonly ModelItem[],
  turns: readonly Pick<Turn, 'images' | 'files'>[],
  needsTools = false,
): readonly ModelItem[] {
  const needsVision = turns.some(({ images }) => images.length > 0);
  const needsFiles = turns.some(({ files }) => files?.some(({ kind }) => kind === 'pdf'));
  const names = new Set<string>();
  return models
    .filter(
      (model) =>
        model.unavailable === null &&
        model.type === failed.type &&
        (!needsVision || model.vision) &&
        (!needsFiles || model.files) &&
        (!needsTools || model.tools) &&
        !(model.endpoint === failed.endpoint && model.model === failed.model),
    )
    .toSorted((a, b) => Number(b.model === failed.model) - Number(a.model === failed.model))
    .filter(({ displayName }) => !names.has(displayName) && names.add(displayName))
    .slice(0, MAX_ALTERNATIVES);
}
