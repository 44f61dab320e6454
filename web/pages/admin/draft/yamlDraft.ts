import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { AdminCatalogDraft } from '../../../lib/answers.ts';
import { useAction } from '../../../lib/action.ts';
import type { ApiError } from '../../../lib/api.ts';
import { refreshReads } from '../../../lib/query.ts';
import { READS_OF_DRAFT, replaceDraft, saveDraftText } from './draft.ts';

const TYPING_MS = 600;

interface YamlDraft {
  readonly text: string;
  readonly type: (text: string) => void;
  /** Something typed is not in the draft yet. */
  readonly isPending: boolean;
  readonly error: ApiError | null;
  /** The draft was changed in another tab while typing in this one. */
  readonly isElsewhere: boolean;
  /** Discards what was typed here since. */
  readonly loadNewest: () => void;
  readonly keepMine: () => void;
}

interface TypedText {
  readonly text: string;
  /** The tag of the draft that typing began with, so that a draft from another tab is not overwritten. */
  readonly tag: number | null;
}

/** The draft's text, saved to the server as it is typed: it survives leaving the page, a reload and another tab. */
export function useYamlDraft(published: string, draft: AdminCatalogDraft['draft']): YamlDraft {
  const client = useQueryClient();
  const [typed, setTyped] = useState<TypedText>();
  const save = useAction(
    async ({ text, tag, replaces }: TypedText & { replaces?: boolean }) => ({
      text,
      saved: replaces ? await replaceDraft(text) : await saveDraftText(text, tag),
    }),
    {
      refresh: READS_OF_DRAFT,
      onDone: ({ text, saved }) =>
        setTyped((now) =>
          !now || now.text === text ? undefined : { ...now, tag: saved.draft?.tag ?? null },
        ),
    },
  );
  const { mutate } = save;
  const isFree = !save.isPending && save.error === null;
  const latest = useRef<() => void>(undefined);
  useEffect(() => {
    latest.current = typed && isFree ? () => mutate(typed) : undefined;
    if (!typed || !isFree) return undefined;
    const timer = setTimeout(() => mutate(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, isFree, mutate]);
  useEffect(() => {
    const leave = (): void => {
      if (document.visibilityState === 'hidden') latest.current?.();
    };
    document.addEventListener('visibilitychange', leave);
    return () => {
      document.removeEventListener('visibilitychange', leave);
      latest.current?.();
    };
  }, []);
  return {
    text: typed?.text ?? draft?.yaml ?? published,
    type: (text) => {
      setTyped((before) => ({ text, tag: before ? before.tag : (draft?.tag ?? null) }));
      if (save.error && save.error.code !== 'conflict') save.reset();
    },
    isPending: typed !== undefined,
    error: save.error,
    isElsewhere: save.error?.code === 'conflict',
    loadNewest: () => {
      setTyped(undefined);
      save.reset();
      void refreshReads(client, READS_OF_DRAFT);
    },
    keepMine: () => {
      if (typed) mutate({ ...typed, replaces: true });
    },
  };
}
