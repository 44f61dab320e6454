import type { EndpointItem } from '../../lib/answers.ts';
import type { Tone } from '../../ui/Badge.tsx';

export const STATUS_TONES: Record<EndpointItem['status'], Tone> = {
  up: 'good',
  degraded: 'warn',
  down: 'bad',
};
