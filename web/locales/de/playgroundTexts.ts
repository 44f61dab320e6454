import type { PlaygroundStrings } from '../en/playgroundTexts.ts';
import { attach } from './attach.ts';
import { chats } from './chats.ts';
import { structured } from './structured.ts';
import { studio } from './studio.ts';

export const dePlayground: PlaygroundStrings = {
  ...chats,
  ...attach,
  ...structured,
  ...studio,
};
