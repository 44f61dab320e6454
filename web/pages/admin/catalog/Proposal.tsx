import type { AdminCatalogProposal } from '../../../../src/console/contract.ts';
import { useShownRows } from '../../../lib/shown.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge, type Tone } from '../../../ui/Badge.tsx';
import { ShowMore } from '../../../ui/Pager.tsx';
import { MissingKey } from '../draft/MissingKey.tsx';

const TONES: Record<AdminCatalogProposal['changes'][number]['kind'], Tone> = {
  added: 'good',
  removed: 'bad',
  changed: 'warn',
};

interface ProposalProps {
  readonly proposal: AdminCatalogProposal;
  /** A key that was missing is there now: look again. */
  readonly onKeyStored: () => void;
}

/** What is wrong with a draft, or what would change if it were published. */
export function Proposal({ proposal, onKeyStored }: ProposalProps) {
  const { t } = useTranslation();
  // An import may add thousands of models at once.
  const { rows: changes, ...more } = useShownRows(proposal.changes, '');
  if (!proposal.ok) {
    return (
      <div role="alert">
        <h3 className="mb-2 font-semibold text-bad">
          {t('catalog.problems', { count: proposal.problems.length })}
        </h3>
        <ul className="divide-y divide-line rounded-md border border-bad-line">
          {proposal.problems.map((problem) => (
            <li key={`${problem.line}:${problem.column}:${problem.message}`} className="px-3 py-2 text-sm">
              {problem.line === null ? null : (
                <span className="mr-2 font-medium text-bad">{t('catalog.line', { line: problem.line })}</span>
              )}
              {problem.path ? <code className="mr-2 text-xs text-ink-3">{problem.path}</code> : null}
              {problem.message}
              {problem.missingKey ? <MissingKey {...problem.missingKey} onStored={onKeyStored} /> : null}
            </li>
          ))}
        </ul>
      </div>
    );
  }
  return (
    <div role="status">
      <h3 className="mb-2 font-semibold">{t('catalog.changes')}</h3>
      {proposal.changes.length === 0 ? <p className="text-ink-3">{t('catalog.noChanges')}</p> : null}
      <ul className="divide-y divide-line border-y border-line">
        {changes.map((change) => (
          <li key={`${change.kind}:${change.subject}`} className="py-2 text-sm">
            <span className="flex flex-wrap items-center gap-2">
              <Badge tone={TONES[change.kind]}>{t(`catalog.${change.kind}`)}</Badge>
              <code className="break-all">{change.subject}</code>
            </span>
            {change.before ? (
              <p className="mt-1 break-words text-ink-3 line-through">{change.before}</p>
            ) : null}
            {change.after ? <p className="mt-1 break-words">{change.after}</p> : null}
          </li>
        ))}
      </ul>
      <ShowMore {...more} />
    </div>
  );
}
