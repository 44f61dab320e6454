import { useState } from 'react';
import { Code } from '../../ui/Code.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import { bodyOf, type Turn } from './conversation.ts';
import { asCode, DIALECTS, type Dialect } from './asCode.ts';
import type { Recipe } from './recipe.ts';
import { publicOrigin } from '../../lib/origin.ts';
import { useTranslation } from '../../lib/translation.tsx';

const NAMES = Object.keys(DIALECTS) as Dialect[];

export function CodeDialog({
  recipe,
  turns,
  onClose,
}: {
  recipe: Recipe;
  turns: readonly Turn[];
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [dialect, setDialect] = useState<Dialect>('curl');
  const asked =
    turns.length > 0
      ? bodyOf(recipe, dropLastAnswer(turns))
      : { ...bodyOf(recipe, []), messages: [{ role: 'user' as const, content: '…' }] };
  const code = asCode(dialect, publicOrigin(), shortenFiles(asked));
  return (
    <Dialog open kind="wide" title={t('playground.codeTitle')} onClose={onClose}>
      <Tabs
        label={t('playground.code')}
        value={dialect}
        onChange={setDialect}
        tabs={NAMES.map((value) => ({ value, label: DIALECTS[value] }))}
      >
        <Code code={code} label={DIALECTS[dialect]} />
      </Tabs>
    </Dialog>
  );
}

/** The code asks the last question again, so its answer is not part of it. */
function dropLastAnswer(turns: readonly Turn[]): readonly Turn[] {
  return turns.at(-1)?.role === 'assistant' ? turns.slice(0, -1) : turns;
}

/** A picture or a PDF is a megabyte of text; in sample code its beginning is enough. */
function shortenFiles<Body>(body: Body): Body {
  const json = JSON.stringify(body, (_, value: unknown) =>
    typeof value === 'string' && /^data:(?:image\/\w+|application\/pdf);base64,/.test(value)
      ? `${value.slice(0, 40)}…`
      : value,
  );
  return JSON.parse(json) as Body;
}
