import { useEffect } from 'react';
import { useTranslation } from '../../lib/translation.tsx';
import { toast } from '../../ui/Toast.tsx';
import { chatFromFragment, isChatFragment } from './sharedChat.ts';
import type { KeptChats } from './useKeptChats.ts';

/** Opens the chat that the page's link carries, once; afterwards the address is the page's own again. */
export function useLinkedChat({ add }: Pick<KeptChats, 'add'>): void {
  const { t } = useTranslation();
  useEffect(() => {
    const { hash, pathname, search } = location;
    if (!isChatFragment(hash)) return;
    history.replaceState(history.state, '', `${pathname}${search}`);
    void chatFromFragment(hash).then((chat) => (chat ? add(chat) : toast(t('chats.brokenLink'), 'bad')));
    // The link is read when the page opens.
  }, []); // oxlint-disable-line react/exhaustive-deps
}
