import { createContext, useEffect, useId, useRef, useState, type ReactNode } from 'react';
import X from 'lucide-react/icons/x';
import { classes } from '../lib/classes.ts';
import { useTranslation } from '../lib/translation.tsx';
import { IconButton, Button } from './Button.tsx';

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
  /** A sheet comes in from the side and leaves the page's context visible; a box asks for a decision. */
  readonly kind?: 'box' | 'sheet' | 'drawer' | 'wide';
  /** For a secret shown once: neither Escape nor a click outside closes it by accident. */
  readonly insistent?: boolean;
  readonly hideTitle?: boolean;
}

/** Menus inside a dialog must be drawn inside it too: everything else lies beneath it and is inert. */
export const PortalContext = createContext<HTMLElement | null>(null);

/** The browser's own modal dialog: it traps focus, makes the rest inert and gives focus back, without injected styles. */
export function Dialog(props: DialogProps) {
  return props.open ? <OpenDialog {...props} /> : null;
}

function OpenDialog({ onClose, title, children, footer, kind = 'box', insistent, hideTitle }: DialogProps) {
  const { t } = useTranslation();
  const ref = useRef<HTMLDialogElement>(null);
  const [element, setElement] = useState<HTMLDialogElement | null>(null);
  // Read while rendering: once the dialog is open, a field in it may already have the focus.
  const [before] = useState(() => document.activeElement);
  const titleId = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) {
      keepScrollBarWidth();
      dialog.showModal();
    }
    dialog?.querySelector<HTMLElement>('[data-autofocus=true]')?.focus();
    setElement(dialog);
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, [before]);
  return (
    <dialog
      ref={ref}
      aria-labelledby={titleId}
      className={classes(
        'thin-scroll flex flex-col border-line bg-raised p-0 shadow-pop outline-none',
        SHAPES[kind],
      )}
      onCancel={(event) => {
        event.preventDefault();
        if (!insistent) onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current && !insistent && isOutside(event.nativeEvent, ref.current))
          onClose();
      }}
    >
      <header
        className={hideTitle ? 'sr-only' : 'flex shrink-0 items-start gap-3 border-b border-line px-5 py-3.5'}
      >
        <h2 id={titleId} className="min-w-0 flex-1 pt-1 text-lg font-semibold tracking-tight">
          {title}
        </h2>
        {insistent || hideTitle ? null : (
          <IconButton reads label={t('common.close')} onClick={onClose}>
            <X size={17} aria-hidden />
          </IconButton>
        )}
      </header>
      <div
        className={classes('thin-scroll min-h-0 flex-1 overflow-y-auto', !hideTitle && 'px-5 py-5')}
        tabIndex={-1}
      >
        <PortalContext value={element}>{children}</PortalContext>
      </div>
      {footer ? (
        <footer className="flex shrink-0 flex-wrap justify-end gap-2 border-t border-line px-5 py-3.5">
          {footer}
        </footer>
      ) : null}
    </dialog>
  );
}

/** The page loses its scroll bar beneath a dialog: its width stays, so that nothing moves and the dimming has no gap. */
function keepScrollBarWidth(): void {
  if (document.querySelector('dialog[open]')) return;
  const root = document.documentElement;
  root.style.setProperty('--scroll-bar', `${window.innerWidth - root.clientWidth}px`);
}

const SHAPES: Record<NonNullable<DialogProps['kind']>, string> = {
  box: 'm-auto max-h-[90dvh] w-[min(34rem,calc(100vw-2rem))] animate-rise rounded-lg border',
  wide: 'm-auto max-h-[94dvh] w-[min(64rem,calc(100vw-2rem))] animate-rise rounded-lg border',
  sheet: 'mr-0 ml-auto h-dvh w-[min(36rem,100vw)] animate-slide border-l',
  drawer: 'mr-auto ml-0 h-dvh w-[min(18rem,85vw)] animate-slide-left border-r',
};

function isOutside(event: MouseEvent, element: HTMLElement): boolean {
  const box = element.getBoundingClientRect();
  return (
    event.clientX < box.left ||
    event.clientX > box.right ||
    event.clientY < box.top ||
    event.clientY > box.bottom
  );
}

interface AskDialogProps {
  readonly open: boolean;
  readonly title: string;
  readonly children: ReactNode;
  /** Names the action, never just "OK". */
  readonly go: string;
  readonly onGo: () => void;
  readonly onClose: () => void;
  readonly kind?: 'danger' | 'primary';
}

export function AskDialog({ open, title, children, go, onGo, onClose, kind = 'danger' }: AskDialogProps) {
  const { t } = useTranslation();
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      footer={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button
            kind={kind}
            onClick={() => {
              onClose();
              onGo();
            }}
          >
            {go}
          </Button>
        </>
      }
    >
      <div className="text-ink-2">{children}</div>
    </Dialog>
  );
}
