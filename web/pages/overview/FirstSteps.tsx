import { useTranslation } from 'react-i18next';
import ArrowRight from 'lucide-react/icons/arrow-right';
import Check from 'lucide-react/icons/check';
import { Link } from 'wouter';
import { classes } from '../../lib/classes.ts';
import { Card } from '../../ui/Card.tsx';

/** A new account: what to do, in order. */
export function FirstSteps({ hasToken }: { hasToken: boolean }) {
  const { t } = useTranslation();
  const steps = [
    { href: '/app/key', title: t('overview.startToken'), lead: t('overview.startTokenLead'), done: hasToken },
    {
      href: '/app/quickstart',
      title: t('overview.startCall'),
      lead: t('overview.startCallLead'),
      done: false,
    },
    {
      href: '/app/playground',
      title: t('overview.startPlay'),
      lead: t('overview.startPlayLead'),
      done: false,
    },
  ];
  return (
    <Card flush title={t('overview.startTitle')}>
      <ol className="border-t border-line">
        {steps.map((step, index) => (
          <li key={step.href} className="border-b border-line last:border-b-0">
            <Link
              href={step.href}
              className="group flex items-center gap-4 px-5 py-4 transition-colors hover:bg-hover"
            >
              <span
                className={classes(
                  'grid size-7 shrink-0 place-items-center rounded-full text-sm font-medium',
                  step.done ? 'bg-accent-soft text-accent' : 'border border-field text-ink-2',
                )}
              >
                {step.done ? <Check size={15} aria-label={t('common.done')} /> : index + 1}
              </span>
              <span className="min-w-0 flex-1">
                <span className={classes('block font-medium', step.done && 'text-ink-3 line-through')}>
                  {step.title}
                </span>
                <span className="text-ink-3">{step.lead}</span>
              </span>
              <ArrowRight
                size={16}
                aria-hidden
                className="text-ink-3 transition-transform group-hover:translate-x-1"
              />
            </Link>
          </li>
        ))}
      </ol>
    </Card>
  );
}
