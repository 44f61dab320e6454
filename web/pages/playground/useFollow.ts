import { useEffect, useRef, type RefObject } from 'react';

const NEAR_PX = 240;

/** Keeps the end of a growing conversation in view, unless the reader has scrolled up to read. */
export function useFollow(content: unknown): RefObject<HTMLDivElement | null> {
  const end = useRef<HTMLDivElement>(null);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    const page = document.documentElement;
    const distance = page.scrollHeight - page.scrollTop - page.clientHeight;
    if (distance < NEAR_PX) page.scrollTop = page.scrollHeight;
  }, [content]);
  return end;
}
