import { describe, expect, test } from 'bun:test';
import { clientIdOf, traceOf } from './trace.ts';

/** The examples and rules are those of https://www.w3.org/TR/trace-context/ (sections 3.2 and 3.3). */
const VALID = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

describe('a traceparent', () => {
  test.each([
    VALID,
    VALID.replace('00-', '01-'),
    `${VALID.replace('00-', 'cc-')}-what-the-future-will-be-like`,
  ])('that is valid is passed on as it is: %s', (traceparent) => {
    expect(traceOf(new Headers({ traceparent }))).toEqual({ traceparent });
  });

  test.each([
    '',
    'nonsense',
    VALID.toUpperCase(),
    VALID.replace('00-', 'ff-'),
    `${VALID}-more`,
    VALID.slice(0, -1),
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
    `01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-${'x'.repeat(300)}`,
  ])('that is not valid is dropped, and its tracestate with it: %s', (traceparent) => {
    expect(traceOf(new Headers({ traceparent, tracestate: 'a=1' }))).toBeUndefined();
  });

  test('takes its tracestate along, unless that is too long', () => {
    const traced = (tracestate: string) => traceOf(new Headers({ traceparent: VALID, tracestate }));
    expect(traced('congo=t61rcWkgMzE')).toEqual({ traceparent: VALID, tracestate: 'congo=t61rcWkgMzE' });
    expect(traced(`a=${'1'.repeat(600)}`)).toEqual({ traceparent: VALID });
  });
});

test("a client's own id is cut, and what could disturb a log line is replaced", () => {
  const idOf = (id: string) => clientIdOf(new Headers({ 'x-request-id': id }));
  expect(clientIdOf(new Headers())).toBeUndefined();
  expect(idOf('order-17/retry:2')).toBe('order-17/retry:2');
  expect(idOf('a "b" {c}')).toBe('a__b___c_');
  expect(idOf('x'.repeat(1_000))).toHaveLength(128);
});
