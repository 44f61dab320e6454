import { useState } from 'react';
import Wrench from 'lucide-react/icons/wrench';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Code } from '../../../ui/Code.tsx';
import { Field, Textarea } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import { isAnswered, type ToolCall } from './toolCalls.ts';

interface ToolCallsProps {
  readonly calls: readonly ToolCall[];
  /** Undefined while they cannot be answered. */
  readonly onResults: ((results: readonly string[]) => void) | undefined;
}

/** The tools that an answer called. The user types their results, and the conversation goes on. */
export default function ToolCalls({ calls, onResults }: ToolCallsProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState<readonly string[]>([]);
  const canAnswer = onResults !== undefined && !isAnswered(calls);
  const type = (index: number, text: string): void =>
    setTyped(calls.map((_, at) => (at === index ? text : (typed[at] ?? ''))));
  return (
    <Form
      className="mt-2 flex flex-col gap-3"
      onSubmit={() => canAnswer && onResults(calls.map((_, index) => typed[index] ?? ''))}
    >
      {calls.map((call, index) => (
        <section
          key={call.id || index}
          aria-label={t('structured.call', { name: call.name })}
          className="flex flex-col gap-2 rounded-md border border-line px-4 py-3"
        >
          <p className="flex items-center gap-2 text-sm font-medium">
            <Wrench size={14} aria-hidden className="shrink-0 text-ink-3" />
            <span className="min-w-0 break-words">{t('structured.call', { name: call.name })}</span>
          </p>
          <Code code={pretty(call.arguments)} label={t('structured.arguments', { name: call.name })} />
          {call.result !== undefined ? (
            <Code
              code={call.result}
              label={t('structured.result', { name: call.name })}
              caption={t('structured.resultSent')}
            />
          ) : canAnswer ? (
            <Field label={t('structured.result', { name: call.name })} hint={t('structured.resultHint')}>
              {(ids) => (
                <Textarea
                  {...ids}
                  rows={3}
                  spellCheck={false}
                  className="font-mono text-sm max-sm:text-base"
                  value={typed[index] ?? ''}
                  onChange={(event) => type(index, event.target.value)}
                />
              )}
            </Field>
          ) : null}
        </section>
      ))}
      {canAnswer ? (
        <Button small type="submit" kind="primary" className="self-start">
          {t('structured.sendResults', { count: calls.length })}
        </Button>
      ) : null}
    </Form>
  );
}

/** Arguments that are not JSON stay as the model wrote them. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
