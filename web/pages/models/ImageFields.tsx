import type { ImageAbilityList } from '../../../src/console/contract.ts';
import { useTranslation } from '../../lib/translation.tsx';

const LISTED = ['quality', 'background', 'output_format', 'moderation', 'style'] as const;
const TAKEN = ['output_compression', 'seed', 'negative_prompt', 'mask'] as const;

/** The fields of an image request that a model takes, with their values. */
export function ImageFields({ abilities }: { abilities: ImageAbilityList | null }) {
  const { t } = useTranslation();
  if (!abilities || abilities.mask === null) return t('models.imageFieldsByBackend');
  const fields = imageFields(abilities, t('models.imageFieldTaken'));
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1">
      {fields.map(([name, value]) => (
        <li key={name}>
          <code className="text-sm">{name}</code> {value}
        </li>
      ))}
    </ul>
  );
}

function imageFields(abilities: ImageAbilityList, yes: string): [name: string, value: string][] {
  const { size_range: range, shapes, max_n: most, reference_images: references } = abilities;
  const names = (key: 'aspect_ratio' | 'resolution'): string =>
    [...new Set(shapes.flatMap((shape) => shape[key] ?? []))].join(', ');
  const all: [string, string][] = [
    ['n', `1–${most}`],
    ['size', range ? `${range.min_edge}–${range.max_edge}, × ${range.step}, ≤ ${range.max_ratio}:1` : ''],
    ['aspect_ratio', names('aspect_ratio')],
    ['resolution', names('resolution')],
    ...LISTED.map((name): [string, string] => [name, abilities[name]?.join(', ') ?? '']),
    ...TAKEN.map((name): [string, string] => [name, abilities[name] === true ? yes : '']),
    ['partial_images', (abilities.partial_images ?? 0) > 0 ? `0–${abilities.partial_images}` : ''],
    ['image', references !== null && references > 0 ? `1–${references}` : ''],
  ];
  return all.filter(([, value]) => value !== '');
}
