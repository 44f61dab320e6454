import ArrowRight from 'lucide-react/icons/arrow-right';
import Check from 'lucide-react/icons/check';
import type { Overview } from '../../lib/answers.ts';
import { classes } from '../../lib/classes.ts';
import { approximate, formatUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { Link } from '../../ui/Link.tsx';

export function FirstSteps({ overview }: { overview: Overview }) {
  const { t, i18n } = useTranslation();
  const { welcomeUsd } = overview;
  const done = approximate(overview.balanceUsd) > 0 || (overview.everFunded && overview.latest.length > 0);
  const steps = [
    welcomeUsd !== null && !done
      ? {
          href: '/app/settings',
          title: t('welcome.step', { amount: formatUsd(welcomeUsd, i18n.language) }),
          lead: t('welcome.stepLead'),
          done,
        }
      : {
          href: '/app/billing',
          title: t('overview.startBalance'),
          lead: t('overview.startBalanceLead'),
          done,
        },
    {
      href: '/app/key',
      title: t('overview.startToken'),
      lead: t('overview.startTokenLead'),
      done: overview.token !== null,
    },
    {
      href: '/app/quickstart',
      title: t('overview.startCall'),
      lead: t('overview.startCallLead'),
      done: overview.latest.length > 0,
    },
  ];
  const next = steps.findIndex((step) => !step.done);
  return (
    <Card flush title={t('overview.startTitle')}>
      <ol className="border-t border-line">
        {steps.map((step, index) => (
          <li
            key={step.href}
            aria-current={index === next ? 'step' : undefined}
            className="border-b border-line last:border-b-0"
          >
            <Link
              href={step.href}
              className="group flex items-center gap-4 px-5 py-4 transition-colors hover:bg-hover"
            >
              <StepMark number={index + 1} done={step.done} next={index === next} />
              <span className="min-w-0 flex-1">
                <span className={classes('block font-medium', step.done && 'text-ink-3 line-through')}>
                  {step.title}
                </span>
                <span className="text-ink-3">{step.lead}</span>
              </span>
              <ArrowRight
                size={16}
                aria-hidden
                className="shrink-0 text-ink-3 transition-transform group-hover:translate-x-1"
              />
            </Link>
          </li>
        ))}
      </ol>
    </Card>
  );
}

function StepMark({ number, done, next }: { number: number; done: boolean; next: boolean }) {
  const { t } = useTranslation();
  const look = done
    ? 'bg-accent-soft text-accent'
    : next
      ? 'bg-accent text-on-accent'
      : 'border border-field text-ink-2';
  return (
    <span
      className={classes('grid size-7 shrink-0 place-items-center rounded-full text-sm font-medium', look)}
    >
      {done ? <Check size={15} aria-label={t('common.done')} /> : number}
    </span>
  );
}
