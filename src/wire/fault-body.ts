import type { Fault } from '../std/fault.ts';

/** The public error shape: the spec's `code` and `message`, and more fields for programs. */
export interface FaultBody {
  error: { code: string; message: string; type: string; param: string | null; [extra: string]: unknown };
}

export function faultBody(fault: Fault): FaultBody {
  return {
    error: {
      code: fault.code,
      message: fault.message,
      type: fault.type,
      param: fault.param ?? null,
      ...fault.extra,
    },
  };
}
