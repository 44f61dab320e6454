import { useState } from 'react';
import { publicOrigin } from '../../../lib/origin.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Code } from '../../../ui/Code.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { Tabs } from '../../../ui/Tabs.tsx';
import { DIALECTS, type Dialect } from '../asCode.ts';
import { imageAsCode } from './imageCode.ts';
import type { ImageRun } from './imageRuns.ts';

const NAMES = Object.keys(DIALECTS) as Dialect[];

export function ImageCodeDialog({
  run,
  onClose,
}: {
  run: Pick<ImageRun, 'body' | 'references' | 'mask'>;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [dialect, setDialect] = useState<Dialect>('curl');
  const { body, references, mask } = run;
  const request = { body, pictures: references.length, hasMask: mask !== undefined };
  return (
    <Dialog open kind="wide" title={t('studio.codeTitle')} onClose={onClose}>
      <Tabs
        label={t('playground.code')}
        value={dialect}
        onChange={setDialect}
        tabs={NAMES.map((value) => ({ value, label: DIALECTS[value] }))}
      >
        <Code code={imageAsCode(dialect, publicOrigin(), request)} label={DIALECTS[dialect]} />
      </Tabs>
    </Dialog>
  );
}
