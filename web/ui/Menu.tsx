import { DropdownMenu } from 'radix-ui';
import { useContext, type ReactNode } from 'react';
import { classes } from '../lib/classes.ts';
import { PortalContext } from './Dialog.tsx';

interface MenuItem {
  readonly id: string;
  readonly label: ReactNode;
  readonly icon?: ReactNode;
  readonly onSelect: () => void;
  readonly danger?: boolean;
  readonly apart?: boolean;
}

interface MenuProps {
  readonly trigger: ReactNode;
  readonly items: readonly MenuItem[];
  readonly header?: ReactNode;
}

/** Not modal on purpose: a modal menu injects a style element, which the content policy forbids. */
export function Menu({ trigger, items, header }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal container={useContext(PortalContext)}>
        <DropdownMenu.Content
          align="end"
          sideOffset={6}
          collisionPadding={8}
          className="z-50 min-w-48 animate-rise rounded-lg border border-line bg-raised p-1 shadow-pop"
        >
          {header ? <div className="border-b border-line px-3 pt-1.5 pb-2.5">{header}</div> : null}
          {items.map((item) => (
            <DropdownMenu.Item
              key={item.id}
              onSelect={item.onSelect}
              className={classes(
                'flex h-9 cursor-pointer items-center gap-2.5 rounded-md px-3 outline-none select-none data-[highlighted]:bg-hover',
                item.danger && 'text-bad',
                item.apart && 'mt-1',
              )}
            >
              {item.icon}
              {item.label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
