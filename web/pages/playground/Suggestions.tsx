import questions from '../../../docs/guide/questions.json' with { type: 'json' };
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';

/** What the model of the guides answers well; a phone has room for half of it. */
export function Suggestions({ onAsk }: { onAsk: (question: string) => void }) {
  const { t } = useTranslation();
  return (
    <ul lang="en" aria-label={t('playground.suggestions')} className="flex flex-wrap justify-center gap-2">
      {questions.map((question) => (
        <li key={question} className="max-sm:nth-[n+6]:hidden">
          <Button small onClick={() => onAsk(question)}>
            {question}
          </Button>
        </li>
      ))}
    </ul>
  );
}
