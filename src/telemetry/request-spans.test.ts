import { expect, test } from 'bun:test';
import type { Tracer } from '@opentelemetry/api';
import { newRequestId } from '../std/ids.ts';
import { makeLog } from '../std/log.ts';
import type { RequestRecord } from '../std/request-record.ts';
import { SampledRequestSpans, TraceIds } from './request-spans.ts';

test('a library that throws fails no request that it watches, and the operator is told', () => {
  const broken = (): never => {
    throw new Error('out of order');
  };
  const tracer: Tracer = { startSpan: broken, startActiveSpan: broken };
  const lines: string[] = [];
  const spans = new SampledRequestSpans({
    tracer,
    ids: new TraceIds({ generateTraceId: broken, generateSpanId: broken }),
    isSampled: () => true,
    passesTrace: true,
    now: Date.now,
    operationOf: broken,
    providerOf: broken,
    log: makeLog((line) => lines.push(line)),
  });
  const requestRecord: RequestRecord = {
    requestId: newRequestId(Date.now()),
    clientRequestId: undefined,
    trace: undefined,
    account: undefined,
    endpoint: 'svc_chat',
    model: 'm',
    upstream: undefined,
    isHeld: false,
    end: undefined,
    onEnd: undefined,
  };
  expect(spans.attempt(requestRecord, 'b0', 'm')).toBeUndefined();
  spans.answered(requestRecord, { method: 'POST', path: '/v1/chat/completions', status: 200, address: '' });
  spans.detached(requestRecord);
  requestRecord.onEnd?.();
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(line).toContain('"event":"telemetry_problem"');
});
