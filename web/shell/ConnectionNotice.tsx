import LoaderCircle from 'lucide-react/icons/loader-circle';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { connection } from '../lib/connection.ts';
import { useTranslation } from '../lib/translation.tsx';

/** Says that the server cannot be reached and is tried again. A popover, so that dialogs do not cover it. */
export function ConnectionNotice() {
  const { t } = useTranslation();
  const { isLost } = useSyncExternalStore(connection.subscribe, connection.get);
  const layer = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isLost) layer.current?.showPopover();
    else if (layer.current?.matches(':popover-open')) layer.current.hidePopover();
  }, [isLost]);
  return (
    <div
      ref={layer}
      popover="manual"
      role="status"
      className="pointer-events-none inset-x-4 top-3 bottom-auto m-0 w-auto justify-center overflow-visible bg-transparent open:flex"
    >
      {isLost ? (
        <p className="flex max-w-md animate-rise items-center gap-2.5 rounded-md border border-warn-line bg-warn-soft px-4 py-2.5 text-ink shadow-pop">
          <LoaderCircle size={15} className="shrink-0 animate-turn" aria-hidden />
          {t('again.offline')}
        </p>
      ) : null}
    </div>
  );
}
