import { Component, type ReactNode } from 'react';
import { withTranslation, type WithTranslation } from 'react-i18next';
import { Button } from '../ui/Button.tsx';

interface Props extends WithTranslation {
  readonly children: ReactNode;
}

/** A page that crashes says so and offers a way out. A chunk that an update has removed is fixed by reloading. */
class Boundary extends Component<Props, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    const { t } = this.props;
    return (
      <div role="alert" className="mx-auto max-w-lg px-6 py-24 text-center">
        <h1 className="text-xl font-semibold">{t('errors.broken')}</h1>
        <p className="mt-2 mb-6 text-ink-3">{t('errors.brokenLead')}</p>
        <Button kind="primary" onClick={() => location.reload()}>
          {t('errors.reload')}
        </Button>
      </div>
    );
  }
}

export const ErrorBoundary = withTranslation()(Boundary);
