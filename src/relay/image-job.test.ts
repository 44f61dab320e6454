import { expect, test } from 'bun:test';
import { UpstreamFailure, type FailureKind } from '../upstream/port.ts';
import { mayAskAgain } from './image-job.ts';

const failed = (kind: FailureKind, status?: number) =>
  mayAskAgain(new UpstreamFailure(kind, 'no', status === undefined ? {} : { status }));

test('a job is asked for again only where the backend could not be asked, or has failed itself', () => {
  expect(failed('connect')).toBe(true);
  expect(failed('connection_lost')).toBe(true);
  expect(failed('overloaded')).toBe(true);
  expect(failed('rate_limited')).toBe(true);
  expect(failed('protocol', 500)).toBe(true);
  expect(failed('protocol', 499)).toBe(false);
  expect(failed('protocol')).toBe(false);
  expect(failed('rejected', 404)).toBe(false);
});
