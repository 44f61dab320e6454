import { useTranslation } from '../../../lib/translation.tsx';
import { Badge } from '../../../ui/Badge.tsx';
import { Code } from '../../../ui/Code.tsx';
import type { AnswerFormat } from './answerForm.ts';
import { mismatchesOf, uncheckedKeywords, type Mismatch } from './schemaMatch.ts';

interface JsonAnswerProps {
  readonly text: string;
  readonly format: AnswerFormat;
}

/** An answer in JSON, and whether it is what was asked for. */
export default function JsonAnswer({ text, format }: JsonAnswerProps) {
  const { t } = useTranslation();
  const read = readJson(text);
  if (!read) {
    return (
      <>
        <p className="break-words whitespace-pre-wrap">{text}</p>
        <p role="status" className="mt-2">
          <Badge tone="bad">{t('structured.notJson')}</Badge>
        </p>
      </>
    );
  }
  return (
    <>
      <Code code={JSON.stringify(read.value, null, 2)} label={t('structured.answer')} />
      <Verdict value={read.value} format={format} />
    </>
  );
}

function Verdict({ value, format }: { value: unknown; format: AnswerFormat }) {
  const { t } = useTranslation();
  if (format.kind === 'json') {
    return (
      <p role="status" className="mt-2">
        <Badge tone="good">{t('structured.isJson')}</Badge>
      </p>
    );
  }
  const mismatches = mismatchesOf(format.schema, value);
  const unchecked = uncheckedKeywords(format.schema);
  return (
    <div role="status" className="mt-2 flex flex-col gap-1.5 text-sm">
      <p>
        {mismatches.length === 0 ? (
          <Badge tone="good">{t('structured.matches')}</Badge>
        ) : (
          <Badge tone="bad">{t('structured.mismatches', { count: mismatches.length })}</Badge>
        )}
      </p>
      {mismatches.length > 0 ? (
        <ul className="list-disc pl-5 text-ink-2">
          {mismatches.map((one) => (
            <MismatchLine key={`${one.path} ${one.kind} ${one.expected}`} mismatch={one} />
          ))}
        </ul>
      ) : null}
      {unchecked.length > 0 ? (
        <p className="text-ink-3">{t('structured.unchecked', { keywords: unchecked.join(', ') })}</p>
      ) : null}
    </div>
  );
}

function MismatchLine({ mismatch: { kind, path, expected } }: { mismatch: Mismatch }) {
  const { t } = useTranslation();
  return (
    <li className="break-words">
      <span className="font-mono">{path || t('structured.whole')}</span>
      {': '}
      {t(`structured.mismatch.${kind}`, { expected })}
    </li>
  );
}

function readJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined; // Not JSON: it is shown as it came.
  }
}
