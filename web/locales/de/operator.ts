import type { OperatorStrings } from '../en/operator.ts';
import { admin } from './admin.ts';
import { audit } from './audit.ts';
import { backends } from './backends.ts';
import { cockpit } from './cockpit.ts';
import { drafts } from './drafts.ts';
import { operators } from './operators.ts';

export const deOperator: OperatorStrings = {
  ...admin,
  ...cockpit,
  ...backends,
  ...drafts,
  ...audit,
  ...operators,
};
