import { Component, Suspense, type ReactNode } from 'react';
import { later } from '../lib/chunk.ts';

const Rendered = later(() => import('./MarkdownRendered.tsx'));

/** Markdown from models. The renderer is a chunk of its own; until it has loaded, the plain text is shown. */
export function Markdown({ text }: { text: string }) {
  const plain = <div className="prose whitespace-pre-wrap">{text}</div>;
  return (
    <OrPlain plain={plain}>
      <Suspense fallback={plain}>
        <Rendered text={text} />
      </Suspense>
    </OrPlain>
  );
}

/** No answer of a model may break the page around it: what cannot be rendered is shown as plain text. */
class OrPlain extends Component<{ plain: ReactNode; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    return this.state.failed ? this.props.plain : this.props.children;
  }
}
