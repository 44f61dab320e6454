type TextControl = HTMLInputElement | HTMLTextAreaElement;

interface TypedTexts {
  readonly path: string;
  readonly fields: readonly (readonly [field: string, text: string])[];
}

const KEY = 'tollgate.typed';
/** The page has loaded its data and shows its fields long before. */
const RESTORE_MS = 15_000;

/** Remembers what stands in the page's text fields while the page is loaded again. Passwords and keys are left out. */
export function keepTyped(): void {
  const fields = [...namedControls()].flatMap(([name, { value }]) =>
    value === '' ? [] : [[name, value] as const],
  );
  if (fields.length === 0) return;
  const typed: TypedTexts = { path: here(), fields };
  try {
    sessionStorage.setItem(KEY, JSON.stringify(typed));
  } catch {
    // Forbidden or too much: the page is loaded without it.
  }
}

/** Puts back what `keepTyped` remembered on this page, as its fields appear. */
export function restoreTyped(): void {
  const typed = takeTyped();
  if (!typed || typed.path !== here()) return;
  const left = new Map(typed.fields);
  const fill = (): void => {
    for (const [name, control] of namedControls()) {
      const text = left.get(name);
      if (text === undefined) continue;
      left.delete(name);
      if (control.value !== text) typeInto(control, text);
    }
    if (left.size === 0) observer.disconnect();
  };
  const observer = new MutationObserver(fill);
  observer.observe(document, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), RESTORE_MS);
}

function takeTyped(): TypedTexts | undefined {
  try {
    const text = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    // Only this program writes it, in this tab.
    return text === null ? undefined : (JSON.parse(text) as TypedTexts);
  } catch {
    return undefined;
  }
}

const TEXT_TYPES = new Set(['text', 'search', 'email', 'url', 'tel', 'number', 'date', 'textarea']);

/** By their name and their number among those of that name, because ids change with every load. */
function namedControls(): Map<string, TextControl> {
  const controls = new Map<string, TextControl>();
  for (const control of document.querySelectorAll<TextControl>('input, textarea')) {
    if (!TEXT_TYPES.has(control.type)) continue;
    const label = control.labels?.[0]?.textContent ?? control.getAttribute('aria-label') ?? '';
    let number = 1;
    while (controls.has(`${control.name} ${label} ${number}`)) number++;
    controls.set(`${control.name} ${label} ${number}`, control);
  }
  return controls;
}

/** Sets the value as typing does: React notices it only through the browser's own setter and an event. */
function typeInto(control: TextControl, text: string): void {
  const prototype = control instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
  Object.getOwnPropertyDescriptor(prototype.prototype, 'value')?.set?.call(control, text);
  control.dispatchEvent(new Event('input', { bubbles: true }));
}

function here(): string {
  return location.pathname + location.search;
}
