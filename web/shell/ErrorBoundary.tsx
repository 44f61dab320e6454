import { Component, type ReactNode } from 'react';
import { withTranslation, type WithTranslation } from 'react-i18next';
import { Button } from '../ui/Button.tsx';

interface Props extends WithTranslation {
  readonly children: ReactNode;
  /** The page inside; another one has not crashed. */
  readonly at?: string | undefined;
}

interface State {
  readonly failed: boolean;
  readonly at: string | undefined;
}

/** A page that crashes says so and offers a way out; the shell around it stays. */
class Boundary extends Component<Props, State> {
  override state: State = { failed: false, at: this.props.at };

  static getDerivedStateFromError(): Pick<State, 'failed'> {
    return { failed: true };
  }

  static getDerivedStateFromProps({ at }: Pick<Props, 'at'>, state: State): State | null {
    return at === state.at ? null : { failed: false, at };
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
