import { useEffect } from 'react';
import { useSite } from './session.ts';

/** The name of the page in the tab and for screen readers: what it is first, whose it is second. */
export function useTitle(title: string | undefined): void {
  const site = useSite()?.name ?? 'Tollgate';
  useEffect(() => {
    document.title = title ? `${title} · ${site}` : site;
  }, [title, site]);
}
