import type { OperatorStrings } from './operator.ts';
import type { PlaygroundStrings } from './playgroundTexts.ts';
import type { TeamStrings } from './team.ts';
import { account } from './account.ts';
import { docs } from './docs.ts';
import { entry } from './entry.ts';
import { figures } from './figures.ts';
import { firstRun } from './firstRun.ts';
import { frame } from './frame.ts';
import { messages } from './messages.ts';
import { payments } from './payments.ts';
import { playground } from './playground.ts';
import { records } from './records.ts';
import { tables } from './tables.ts';
import { timeline } from './timeline.ts';

/**
 * English is the reference: the shape of every other language is this one, and the compiler keeps it so. What only
 * operators see is in `operator.ts`, and what only the playground needs in `playgroundTexts.ts`, and
 * the team's page has `team.ts`.
 */
export const en = {
  ...frame,
  ...firstRun,
  ...entry,
  ...account,
  ...figures,
  ...records,
  ...tables,
  ...timeline,
  ...payments,
  ...playground,
  ...docs,
  ...messages,
};

export type SharedStrings = typeof en;
export type Strings = SharedStrings & OperatorStrings & PlaygroundStrings & TeamStrings;
