import { lazy, Suspense, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { ACCOUNT_NAV, ADMIN_NAV } from './navigation.ts';
import { onPalette } from './palette.ts';

const Palette = lazy(() => import('./Palette.tsx'));
const SEQUENCE_MS = 1000;

/** ⌘K opens the palette; `g` and a letter go to a page. Keys typed into a field stay there. */
export function Shortcuts() {
  const [, navigate] = useLocation();
  const [open, setOpen] = useState(false);
  useEffect(() => onPalette(setOpen), []);
  useEffect(() => {
    let startedAt = 0;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setOpen((now) => !now);
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      if (event.key === 'g') startedAt = event.timeStamp;
      else if (event.timeStamp - startedAt < SEQUENCE_MS) {
        startedAt = 0;
        const href = HREF_BY_KEY.get(event.key);
        if (href) navigate(href);
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [navigate]);
  return open ? (
    <Suspense fallback={null}>
      <Palette onClose={() => setOpen(false)} />
    </Suspense>
  ) : null;
}

const HREF_BY_KEY = new Map(
  [...ACCOUNT_NAV, ...ADMIN_NAV].flatMap((group) =>
    group.items.map((item) => [item.key, item.href] as const),
  ),
);

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
      target.closest('dialog') !== null)
  );
}
