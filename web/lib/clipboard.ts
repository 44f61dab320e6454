import { useEffect, useRef, useState } from 'react';

const SHOWN_MS = 1600;

/** Copies a text; `copied` is true for a moment afterwards. */
export function useCopy(): { copied: boolean; copy: (text: string) => void } {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const tell = async (written: Promise<boolean>): Promise<void> => {
    setCopied(await written);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied(false), SHOWN_MS);
  };
  const copy = (text: string): void => {
    void tell(write(text));
  };
  return { copied, copy };
}

async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return legacyWrite(text);
  }
}

/** The clipboard API needs a secure origin; the old command also works on plain HTTP, as in a home network. */
function legacyWrite(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.setAttribute('readonly', '');
  area.className = 'fixed -left-full';
  const host = document.querySelector('dialog[open]') ?? document.body;
  host.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
