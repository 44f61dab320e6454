import type { SharedStrings } from '../en/index.ts';
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

export const de: SharedStrings = {
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
