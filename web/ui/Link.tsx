import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { navigate } from 'wouter/use-browser-location';

interface LinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  readonly href: string;
}

/**
 * A link within the console, followed without loading the page anew. The router's own subscribes to the address, which a
 * table with a link in every cell feels.
 */
export function Link({ href, onClick, children, ...others }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    // Another tab or window, or a download.
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
