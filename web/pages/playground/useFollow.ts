import { useEffect, useRef } from 'react';

const NEAR_PX = 240;

/** Keeps the end of a growing conversation in view, unless the reader has scrolled up to read. A new turn always shows. */
export function useFollow(turns: readonly { readonly text: string }[]): void {
  const before = useRef(turns.length);
  useEffect(() => {
    const page = document.documentElement;
    const distance = page.scrollHeight - page.scrollTop - page.clientHeight;
    if (turns.length > before.current || (turns.length > 0 && distance < NEAR_PX))
      page.scrollTop = page.scrollHeight;
    before.current = turns.length;
  }, [turns]);
}
