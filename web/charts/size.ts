import { useLayoutEffect, useRef, useState, type RefObject } from 'react';

/** The width an element has been given, so that a chart can be drawn in real pixels and its text stays legible. */
export function useWidth<Element extends HTMLElement>(): [RefObject<Element | null>, number] {
  const ref = useRef<Element>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** Round steps that reach below zero too where there are negative values. */
export function signedTicks(min: number, max: number): number[] {
  const [, step = 1] = axisTicks(Math.max(max, -min));
  const below = Math.ceil(-Math.min(min, 0) / step - 1e-9);
  const above = Math.max(below === 0 ? 1 : 0, Math.ceil(Math.max(max, 0) / step - 1e-9));
  return Array.from({ length: below + above + 1 }, (_, index) => (index - below) * step);
}

/** Round steps for an axis: 1, 2 or 5 times a power of ten. */
export function axisTicks(max: number, wanted = 4): number[] {
  if (max <= 0) return [0, 1];
  const rough = max / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const count = Math.ceil(max / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}
