import type { ReactNode } from 'react';
import { useTitle } from '../../lib/title.ts';
import { PublicShell } from '../../shell/PublicShell.tsx';

interface AuthFrameProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
}

export function AuthFrame({ title, lead, children, footer }: AuthFrameProps) {
  useTitle(title);
  return (
    <PublicShell>
      <div className="mx-auto w-full max-w-[25rem] px-4 py-14 sm:py-20">
        <h1 className="text-2xl font-semibold tracking-tight">{title}</h1>
        {lead ? <p className="mt-1 text-ink-3">{lead}</p> : null}
        <div className="mt-7">{children}</div>
        {footer ? <div className="mt-7 border-t border-line pt-5 text-ink-3">{footer}</div> : null}
      </div>
    </PublicShell>
  );
}
