import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { navigate } from 'wouter/use-browser-location';

interface LinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  readonly href: string;
}

/**
 * A link within the console that does not reload the page. The router's own link subscribes to the address, which
 * slows down a table with a link in every cell.
 */
export function Link({ href, onClick, children, ...others }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    // Opens another tab or window, or downloads.
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.button !== 0) return;
    onClick?.(event);
    if (event.defaultPrevented) return;
    event.preventDefault();
    navigate(href);
  };
  return (
    <a {...others} href={href} onClick={follow}>
      {children}
    </a>
  );
}
