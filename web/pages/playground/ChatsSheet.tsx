import { useRef, useState } from 'react';
import Download from 'lucide-react/icons/download';
import Link2 from 'lucide-react/icons/link-2';
import Pencil from 'lucide-react/icons/pencil';
import Trash2 from 'lucide-react/icons/trash-2';
import { useCopy } from '../../ui/Copy.tsx';
import { saveFile, publicOrigin } from '../../lib/browser.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Dialog, AskDialog } from '../../ui/Dialog.tsx';
import { Button, IconButton } from '../../ui/Button.tsx';
import { Input } from '../../ui/Field.tsx';
import { Empty } from '../../ui/States.tsx';
import { Time } from '../../ui/Time.tsx';
import { toast } from '../../ui/Toast.tsx';
import { MAX_CHAT_CHARACTERS, MAX_CHATS, parseChat, type KeptChat } from './keptChats.ts';
import { chatForOthers, chatFragment } from './sharedChat.ts';
import type { KeptChats } from './useKeptChats.ts';

/** The chats that are kept in this browser: open, rename, share, delete. */
export function ChatsSheet({ kept, onClose }: { kept: KeptChats; onClose: () => void }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  return (
    <Dialog open kind="sheet" title={t('chats.title')} onClose={onClose}>
      <p className="mb-4 text-sm text-ink-3">{t('chats.lead', { most: MAX_CHATS })}</p>
      <div className="mb-4 flex flex-wrap gap-2">
        <ImportButton onChat={kept.add} onDone={onClose} />
        <Button small kind="ghost" disabled={kept.chats.length === 0} onClick={() => setAsking(true)}>
          {t('chats.clear')}
        </Button>
      </div>
      {kept.chats.length === 0 ? <Empty compact title={t('chats.empty')} /> : null}
      <ul className="divide-y divide-line">
        {kept.chats.map((chat) => (
          <ChatLine key={chat.id} chat={chat} kept={kept} onClose={onClose} />
        ))}
      </ul>
      <AskDialog
        open={asking}
        title={t('chats.clearTitle')}
        go={t('chats.clear')}
        onGo={kept.removeAll}
        onClose={() => setAsking(false)}
      >
        {t('chats.clearLead')}
      </AskDialog>
    </Dialog>
  );
}

interface ChatLineProps {
  readonly chat: KeptChat;
  readonly kept: KeptChats;
  readonly onClose: () => void;
}

function ChatLine({ chat, kept, onClose }: ChatLineProps) {
  const { t } = useTranslation();
  const [name, setName] = useState<string>();
  const shown = chat.title || t('chats.untitled');
  const rename = (): void => {
    if (name?.trim()) kept.rename(chat.id, name.trim());
    setName(undefined);
  };
  if (name !== undefined) {
    return (
      <li className="py-2">
        <form
          className="flex gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            rename();
          }}
        >
          <Input
            autoFocus
            aria-label={t('chats.name')}
            maxLength={80}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <Button small type="submit" kind="primary" className="h-9">
            {t('common.save')}
          </Button>
        </form>
      </li>
    );
  }
  return (
    <li className="flex items-center gap-1 py-2">
      <button
        type="button"
        aria-current={chat.id === kept.current ? 'true' : undefined}
        onClick={() => {
          kept.open(chat);
          onClose();
        }}
        className="min-w-0 flex-1 rounded-md px-2 py-1 text-left hover:bg-hover aria-[current]:text-accent"
      >
        <span className="block truncate font-medium">{shown}</span>
        <span className="text-sm text-ink-3">
          <Time at={chat.at} />
        </span>
      </button>
      <IconButton label={t('chats.rename', { title: shown })} onClick={() => setName(chat.title)}>
        <Pencil size={14} aria-hidden />
      </IconButton>
      <LinkButtonOf chat={chat} title={shown} />
      <IconButton
        label={t('chats.export', { title: shown })}
        onClick={() => saveFile('chat.json', new Blob([JSON.stringify(chatForOthers(chat), null, 2)]))}
      >
        <Download size={14} aria-hidden />
      </IconButton>
      <IconButton label={t('chats.remove', { title: shown })} onClick={() => kept.remove(chat.id)}>
        <Trash2 size={14} aria-hidden />
      </IconButton>
    </li>
  );
}

function LinkButtonOf({ chat, title }: { chat: KeptChat; title: string }) {
  const { t } = useTranslation();
  const { copy } = useCopy();
  const copyLink = async (): Promise<void> => {
    const fragment = await chatFragment(chat);
    if (fragment === undefined) return toast(t('chats.tooLong'), 'bad');
    copy(`${publicOrigin()}/app/playground${fragment}`);
    toast(t('chats.copied'));
  };
  return (
    <IconButton label={t('chats.link', { title })} onClick={() => void copyLink()}>
      <Link2 size={14} aria-hidden />
    </IconButton>
  );
}

function ImportButton({ onChat, onDone }: { onChat: (chat: KeptChat) => void; onDone: () => void }) {
  const { t } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  const onFile = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    const chat = file.size > 4 * MAX_CHAT_CHARACTERS ? undefined : readChat(await file.text());
    if (input.current) input.current.value = '';
    if (!chat) return toast(t('chats.noChat'), 'bad');
    onChat(chat);
    onDone();
  };
  return (
    <>
      <Button small onClick={() => input.current?.click()}>
        {t('chats.import')}
      </Button>
      <input
        ref={input}
        type="file"
        accept="application/json,.json"
        aria-label={t('chats.import')}
        hidden
        onChange={(event) => void onFile(event.target.files?.[0])}
      />
    </>
  );
}

function readChat(text: string): KeptChat | undefined {
  try {
    return parseChat(JSON.parse(text));
  } catch {
    return undefined;
  }
}
