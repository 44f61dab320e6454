import { useEffect } from 'react';
import { useSite } from './session.ts';

/** The title in the tab and for screen readers: the page first, then the site. */
export function useTitle(title: string | undefined): void {
  const site = useSite()?.name ?? 'Tollgate';
  useEffect(() => {
    document.title = title ? `${title} · ${site}` : site;
  }, [title, site]);
}
