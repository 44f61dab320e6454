import { account } from './account.ts';
import { admin } from './admin.ts';
import { audit } from './audit.ts';
import { backends } from './backends.ts';
import { docs } from './docs.ts';
import { entry } from './entry.ts';
import { frame } from './frame.ts';
import { messages } from './messages.ts';
import { payments } from './payments.ts';
import { playground } from './playground.ts';
import { records } from './records.ts';

/** English is the reference: the shape of every other language is this one, and the compiler keeps it so. */
export const en = {
  ...frame,
  ...entry,
  ...account,
  ...records,
  ...payments,
  ...playground,
  ...docs,
  ...admin,
  ...backends,
  ...audit,
  ...messages,
};

export type Strings = typeof en;
