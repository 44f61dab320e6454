import { lazy, Suspense } from 'react';

const Rendered = lazy(() => import('./MarkdownRendered.tsx'));

/** Markdown of guides and models. The renderer is a chunk of its own; until it is there, the plain text is shown. */
export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<div className="prose whitespace-pre-wrap">{text}</div>}>
      <Rendered text={text} />
    </Suspense>
  );
}
