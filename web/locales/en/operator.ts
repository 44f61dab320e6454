import { admin } from './admin.ts';
import { audit } from './audit.ts';
import { backends } from './backends.ts';
import { cockpit } from './cockpit.ts';
import { drafts } from './drafts.ts';
import { operators } from './operators.ts';

/** Texts of the operator's pages alone, which are loaded with them. */
export const enOperator = {
  ...admin,
  ...cockpit,
  ...backends,
  ...drafts,
  ...audit,
  ...operators,
};

export type OperatorStrings = typeof enOperator;
