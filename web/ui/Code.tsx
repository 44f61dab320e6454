import { Fragment } from 'react';
import { classes } from '../lib/classes.ts';
import { CopyIconButton } from './Copy.tsx';

interface CodeProps {
  readonly code: string;
  readonly label: string;
  readonly caption?: string;
  readonly className?: string;
  /** The text that is copied, where it differs from the shown one (a secret that is hidden on screen). */
  readonly copyText?: string;
}

/** A block of code with a copy button. Highlighting is minimal: comments recede, strings stand out. */
export function Code({ code, label, caption, className, copyText }: CodeProps) {
  return (
    <figure className={classes('group relative min-w-0 rounded-md border border-line bg-sunken', className)}>
      {caption ? (
        <figcaption className="truncate border-b border-line py-2 pr-12 pl-4 font-mono text-xs text-ink-3">
          {caption}
        </figcaption>
      ) : null}
      <pre
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrollable by keyboard
        tabIndex={0}
        aria-label={label}
        className={classes(
          'thin-scroll overflow-x-auto rounded-md px-4 py-3.5 text-sm',
          // Beside the button, which has the caption's line where there is one.
          !caption && 'mr-11',
        )}
      >
        <code>{colour(code)}</code>
      </pre>
      <CopyIconButton
        text={copyText ?? code}
        className={classes('absolute right-1.5', caption ? 'top-0' : 'top-1.5')}
      />
    </figure>
  );
}

const TOKEN = /((?:^|\s)#[^\n]*|(?<=^|\s)\/\/[^\n]*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')/gm;

function colour(code: string) {
  const pieces = [];
  let end = 0;
  for (const match of code.matchAll(TOKEN)) {
    if (match.index > end) pieces.push(<Fragment key={end}>{code.slice(end, match.index)}</Fragment>);
    pieces.push(
      <span key={match.index} className={match[1] ? 'text-ink-3' : 'text-accent'}>
        {match[0]}
      </span>,
    );
    end = match.index + match[0].length;
  }
  pieces.push(<Fragment key={end}>{code.slice(end)}</Fragment>);
  return pieces;
}
