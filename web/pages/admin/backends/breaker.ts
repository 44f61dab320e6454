import type { BackendState } from '../../../../src/console/contract.ts';
import type { Tone } from '../../../ui/Badge.tsx';

/** A closed breaker lets traffic through: closed is good here. */
export const BREAKER_TONES: Record<BackendState, Tone> = { closed: 'good', half_open: 'warn', open: 'bad' };
