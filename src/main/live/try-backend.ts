import type { BackendTrial, TriedBackend } from '../../console/parts.ts';
import { houseBackend } from '../../house/backend.ts';
import type { Clock } from '../../std/clock.ts';
import { formatUsd, nanoUsd } from '../../std/money.ts';

/** Five cents. */
const MOST = nanoUsd(50_000_000);

/** One streamed request, which costs at most a few cents. */
export async function tryBackend(
  { catalog, backend, model }: BackendTrial,
  clock: Clock,
): Promise<TriedBackend> {
  const { liveCheck } = await import('./live-check.ts');
  const [result] = await liveCheck(
    { catalog, backend, model, most: MOST, cases: ['stream'] },
    { clock, builtIn: { house: houseBackend } },
  );
  const usage = result && 'usage' in result ? result.usage : undefined;
  return {
    ok: result?.kind === 'passed',
    detail: result && 'reason' in result ? result.reason : '',
    text: usage?.text.slice(0, MOST_CHARACTERS) ?? '',
    durationMs: result?.durationMs ?? 0,
    inputTokens: usage?.input ?? null,
    outputTokens: usage?.output ?? null,
    cost: formatUsd(result?.cost ?? nanoUsd(0)),
  };
}

const MOST_CHARACTERS = 2_000;
