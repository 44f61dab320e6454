import type { RunName, Scenario, TestReference } from './catalogue.ts';
import type { TestResult } from './test-results.ts';

export interface Finding {
  readonly scenario: Scenario;
  readonly outcome: 'passed' | 'failed' | 'not run';
  /** Numbers of a pass, names of failures, or the reason why it was not run. */
  readonly told: string;
}

/** What a run of `npm run faults` has found; what was not run is missing. */
export interface Evidence {
  readonly tests: ReadonlyMap<string, readonly TestResult[]>;
  readonly runs: ReadonlyMap<RunName, RunResult>;
}

export interface RunResult {
  readonly faults: readonly string[];
  /** Its numbers, in one line. */
  readonly told: string;
  /** Why it says less than its scenario asks for. */
  readonly shortened: string | undefined;
}

/** A scenario has passed if everything that checks it has run and passed. */
export function judge(scenario: Scenario, evidence: Evidence): Finding {
  const parts = [
    ...scenario.tests.map((reference) => testOutcome(reference, evidence.tests.get(reference.file))),
    ...scenario.runs.map((name) => runOutcome(name, evidence.runs.get(name))),
  ];
  const failed = parts.filter(({ outcome }) => outcome === 'failed');
  const missing = parts.filter(({ outcome }) => outcome === 'not run');
  const [outcome, telling] =
    failed.length > 0
      ? (['failed', failed] as const)
      : missing.length > 0 || parts.length === 0
        ? (['not run', missing] as const)
        : (['passed', parts] as const);
  return { scenario, outcome, told: telling.map(({ told }) => told).join('; ') };
}

type Part = Omit<Finding, 'scenario'>;

function testOutcome({ file, name }: TestReference, results: readonly TestResult[] | undefined): Part {
  if (!results) return { outcome: 'not run', told: `${file}: the time was up` };
  const chosen = results.filter((result) => result.name.includes(name));
  const failed = chosen.filter(({ outcome }) => outcome === 'failed');
  if (failed.length > 0) return { outcome: 'failed', told: failed.map((result) => result.name).join('; ') };
  const passed = chosen.filter(({ outcome }) => outcome === 'passed').length;
  if (chosen.length === 0) return { outcome: 'failed', told: `${file} has no test "${name}"` };
  if (passed === 0) return { outcome: 'not run', told: `${file}: skipped` };
  return { outcome: 'passed', told: `${passed} in \`${file}\`` };
}

function runOutcome(name: RunName, result: RunResult | undefined): Part {
  if (!result) return { outcome: 'not run', told: `the run "${name}" was left out` };
  if (result.faults.length > 0) return { outcome: 'failed', told: result.faults.join('; ') };
  if (result.shortened !== undefined)
    return { outcome: 'not run', told: `${result.shortened}: ${result.told}` };
  return { outcome: 'passed', told: result.told };
}
