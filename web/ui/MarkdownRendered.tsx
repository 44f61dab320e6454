import { Children, isValidElement, type ReactNode } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { useTranslation } from '../lib/translation.tsx';
import { Code } from './Code.tsx';

const PLUGINS = [remarkGfm];

/** Output of models is hostile: raw HTML is dropped, URLs are filtered, and no image is fetched from anywhere. */
export default function MarkdownRendered({ text, document = false }: { text: string; document?: boolean }) {
  return (
    <div className="prose">
      <ReactMarkdown remarkPlugins={PLUGINS} components={document ? DOCUMENT : ANSWER} skipHtml>
        {text}
      </ReactMarkdown>
    </div>
  );
}

const ELSEWHERE = { target: '_blank', rel: 'noopener noreferrer nofollow' };

const BOTH: Components = {
  img: ({ src, alt }) => (
    <a href={typeof src === 'string' ? src : undefined} {...ELSEWHERE}>
      {alt || 'image'}
    </a>
  ),
  pre: ({ children }) => <Block>{children}</Block>,
  table: ({ children }) => <ScrollingTable>{children}</ScrollingTable>,
};

/**
 * An answer is rendered below the page's own headings and has no anchors, since two answers may use the same words.
 * Its links open elsewhere, so that the conversation or the setup stays.
 */
const ANSWER: Components = {
  ...BOTH,
  a: ({ href, children }) => (
    <a href={href} {...ELSEWHERE}>
      {children}
    </a>
  ),
  h1: ({ children }) => <h2>{children}</h2>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
  h4: ({ children }) => <h5>{children}</h5>,
};

/** A guide is the page itself: headings keep their level, and headings and rows of tables can be linked to. */
const DOCUMENT: Components = {
  ...BOTH,
  a: ({ href, children }) => {
    const own = href?.startsWith('/') || href?.startsWith('#');
    return (
      <a href={href} {...(own ? {} : ELSEWHERE)}>
        {children}
      </a>
    );
  },
  h1: ({ children }) => <h1 id={slug(children)}>{children}</h1>,
  h2: ({ children }) => <h2 id={slug(children)}>{children}</h2>,
  h3: ({ children }) => <h3 id={slug(children)}>{children}</h3>,
  tr: ({ children }) => <tr id={rowId(children)}>{children}</tr>,
};

function ScrollingTable({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <div
      role="group"
      aria-label={t('common.table')}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
      tabIndex={0}
      className="table-scroll"
    >
      <table>{children}</table>
    </div>
  );
}

function Block({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const language = languageOf(children);
  return <Code code={textOf(children).replace(/\n$/, '')} label={language ?? t('playground.sample')} />;
}

function languageOf(children: ReactNode): string | undefined {
  const [code] = Children.toArray(children);
  if (!isValidElement<{ className?: string }>(code)) return undefined;
  return /language-(\S+)/.exec(code.props.className ?? '')?.[1];
}

function textOf(node: ReactNode): string {
  if (typeof node === 'string' || typeof node === 'number') return String(node);
  if (Array.isArray(node)) return node.map(textOf).join('');
  return isValidElement<{ children?: ReactNode }>(node) ? textOf(node.props.children) : '';
}

/** The same anchors as on GitHub, so that links within the guides work in both places. */
function slug(children: ReactNode): string {
  return textOf(children)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, '')
    .trim()
    .replace(/\s+/g, '-');
}

/** `/docs/errors/invalid_json` leads to the row whose first cell is that word. */
function rowId(children: ReactNode): string | undefined {
  const first = textOf(Children.toArray(children)[0]);
  return /^[a-z]+(_[a-z]+)+$/.test(first) ? first : undefined;
}
