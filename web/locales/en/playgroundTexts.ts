import { attach } from './attach.ts';
import { chats } from './chats.ts';
import { structured } from './structured.ts';
import { studio } from './studio.ts';

/** Texts of the playground and the gallery alone, which are loaded with them. */
export const enPlayground = {
  ...chats,
  ...attach,
  ...structured,
  ...studio,
};

export type PlaygroundStrings = typeof enPlayground;
