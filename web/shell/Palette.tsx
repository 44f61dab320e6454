import { Command } from 'cmdk';
import type { ReactNode } from 'react';
import { useState } from 'react';
import Languages from 'lucide-react/icons/languages';
import Layers from 'lucide-react/icons/layers';
import LogOut from 'lucide-react/icons/log-out';
import ReceiptText from 'lucide-react/icons/receipt-text';
import SunMoon from 'lucide-react/icons/sun-moon';
import { useLocation } from 'wouter';
import { chooseLanguage, LANGUAGES, type Language } from '../lib/i18n.ts';
import { findOptions } from '../lib/options.ts';
import { signOut, useUser } from '../lib/session.ts';
import { useTheme } from '../lib/theme.ts';
import { useTranslation } from '../lib/translation.tsx';
import { useModels } from '../lib/wallet.ts';
import { Dialog } from '../ui/Dialog.tsx';
import { ACCOUNT_NAV, operatorNav } from './navigation.ts';

const MAX_MODELS = 60;

/** Type to go anywhere: pages, models, a request by its id, the theme, the language. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [, navigate] = useLocation();
  const go = (href: string): void => {
    onClose();
    navigate(href);
  };
  return (
    <Dialog open onClose={onClose} title={t('palette.title')} hideTitle>
      <Command label={t('palette.title')} className="flex max-h-[70dvh] flex-col">
        <Command.Input
          data-autofocus="true"
          value={text}
          onValueChange={setText}
          placeholder={t('palette.placeholder')}
          className="h-13 w-full shrink-0 border-b border-line bg-transparent px-5 text-lg outline-none"
        />
        <Command.List className="thin-scroll min-h-0 flex-1 overflow-y-auto p-2">
          <Command.Empty className="px-3 py-8 text-center text-ink-3">{t('palette.empty')}</Command.Empty>
          <RequestEntry text={text.trim()} go={go} />
          <Pages go={go} />
          <Models text={text} go={go} />
          <Actions onClose={onClose} />
        </Command.List>
      </Command>
    </Dialog>
  );
}

function RequestEntry({ text, go }: { text: string; go: (href: string) => void }) {
  const { t } = useTranslation();
  if (!/^req_\w+$/.test(text)) return null;
  return (
    <Entry
      value={text}
      icon={<ReceiptText size={16} aria-hidden />}
      onSelect={() => go(`/app/requests?id=${text}`)}
    >
      {t('palette.request', { id: text })}
    </Entry>
  );
}

function Pages({ go }: { go: (href: string) => void }) {
  const { t } = useTranslation();
  const user = useUser();
  const groups = [...ACCOUNT_NAV, ...operatorNav(user.rights)];
  return (
    <Group heading={t('palette.pages')}>
      {groups.flatMap((group) =>
        group.items.map(({ href, label, icon: Icon, key }) => (
          <Entry
            key={href}
            value={`${t(`nav.${label}`)} ${href}`}
            icon={<Icon size={16} aria-hidden />}
            hint={key ? <kbd>g {key}</kbd> : null}
            onSelect={() => go(href)}
          >
            {t(`nav.${label}`)}
          </Entry>
        )),
      )}
    </Group>
  );
}

/** Searched here and not by the list component, which would have to hold every model. */
function Models({ text, go }: { text: string; go: (href: string) => void }) {
  const { t } = useTranslation();
  const models = useModels({ staleTime: 60_000 }).data?.models ?? [];
  const { shown } = findOptions(
    models.map(({ endpoint, model, displayName }) => ({
      value: `/app/models/${encodeURIComponent(endpoint)}/${encodeURIComponent(model)}`,
      label: displayName,
      group: `${endpoint}/${model}`,
    })),
    text,
    MAX_MODELS,
  );
  if (shown.length === 0) return null;
  return (
    <Group heading={t('palette.models')}>
      {shown.map(({ value, label, group = '' }) => (
        <Entry
          key={value}
          value={`${group} ${label}`}
          icon={<Layers size={16} aria-hidden />}
          hint={<span className="font-mono">{group.slice(0, group.indexOf('/'))}</span>}
          onSelect={() => go(value)}
        >
          {label}
        </Entry>
      ))}
    </Group>
  );
}

function Actions({ onClose }: { onClose: () => void }) {
  const { t, i18n } = useTranslation();
  const { dark, choose } = useTheme();
  // Every language of the table but the one in use.
  const others = (Object.keys(LANGUAGES) as Language[]).filter((language) => language !== i18n.language);
  const run = (action: () => unknown) => () => {
    onClose();
    void action();
  };
  return (
    <Group heading={t('palette.actions')}>
      <Entry
        value="theme"
        icon={<SunMoon size={16} aria-hidden />}
        onSelect={run(() => choose(dark ? 'light' : 'dark'))}
      >
        {dark ? t('theme.toLight') : t('theme.toDark')}
      </Entry>
      {others.map((language) => (
        <Entry
          key={language}
          value={`language ${LANGUAGES[language]}`}
          icon={<Languages size={16} aria-hidden />}
          onSelect={run(() => chooseLanguage(language))}
        >
          {LANGUAGES[language]}
        </Entry>
      ))}
      <Entry value="sign out" icon={<LogOut size={16} aria-hidden />} onSelect={run(signOut)}>
        {t('nav.signOut')}
      </Entry>
    </Group>
  );
}

function Group({ heading, children }: { heading: string; children: ReactNode }) {
  return (
    <Command.Group
      heading={heading}
      className="mb-1 [&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:py-1.5 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-ink-3"
    >
      {children}
    </Command.Group>
  );
}

interface EntryProps {
  readonly value: string;
  readonly icon: ReactNode;
  readonly onSelect: () => void;
  readonly children: ReactNode;
  readonly hint?: ReactNode;
}

function Entry({ value, icon, onSelect, children, hint }: EntryProps) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex h-10 cursor-pointer items-center gap-3 rounded-md px-3 data-[selected=true]:bg-hover"
    >
      <span className="text-ink-3">{icon}</span>
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {hint ? <span className="hidden text-xs text-ink-3 sm:inline">{hint}</span> : null}
    </Command.Item>
  );
}
