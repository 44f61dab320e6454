/**
 * Which tests answer for which files. A mutant of a source is run against the stages of its area one after another, the
 * fastest first, until one fails. This is the only place that knows paths; a pattern that matches nothing is an error.
 */
export interface Area {
  readonly name: string;
  readonly sources: readonly string[];
  readonly except?: readonly string[];
  readonly stages: readonly (readonly string[])[];
}

const STORIES: readonly (readonly string[])[] = [
  ['test/stories/ends.test.ts', 'test/stories/money.test.ts'],
  ['test/stories/routing.test.ts', 'test/stories/untouched.test.ts', 'test/stories/spec.test.ts'],
];

export const AREAS: readonly Area[] = [
  {
    name: 'ledger',
    sources: ['src/ledger/*.ts'],
    except: [
      'src/ledger/*.test.ts',
      'src/ledger/contract*.ts',
      'src/ledger/model*.ts',
      'src/ledger/*-harness.ts',
      'src/ledger/crash-child.ts',
      'src/ledger/postgres*.ts',
    ],
    stages: [
      [
        'src/ledger/decide.test.ts',
        'src/ledger/price.test.ts',
        'src/ledger/receipt.test.ts',
        'src/ledger/settlement.test.ts',
      ],
      ['src/ledger/contract.test.ts', 'src/ledger/sqlite.test.ts'],
      ['src/ledger/model.test.ts', 'src/ledger/crash.test.ts'],
    ],
  },
  {
    name: 'ledger on Postgres',
    sources: ['src/ledger/postgres*.ts'],
    except: ['src/ledger/*.test.ts'],
    stages: [
      [
        'src/ledger/postgres-batch.test.ts',
        'src/ledger/postgres-lane.test.ts',
        'src/ledger/postgres-lost.test.ts',
      ],
      ['src/ledger/postgres.test.ts'],
    ],
  },
  {
    name: 'relay',
    sources: ['src/relay/*.ts'],
    except: ['src/relay/*.test.ts'],
    stages: [['src/relay/*.test.ts', 'src/wire/sse.test.ts'], ...STORIES],
  },
  {
    name: 'stream reader',
    sources: ['src/wire/sse.ts', 'src/wire/mould.ts'],
    stages: [['src/relay/*.test.ts', 'src/wire/sse.test.ts'], ...STORIES],
  },
  {
    name: 'money and tokens',
    sources: ['src/std/money.ts', 'src/std/tokens.ts'],
    stages: [
      [
        'src/std/money.test.ts',
        'src/std/tokens.test.ts',
        'src/ledger/price.test.ts',
        'src/ledger/decide.test.ts',
      ],
      ['src/ledger/contract.test.ts', 'src/relay/meter.test.ts'],
    ],
  },
  {
    name: 'token',
    sources: ['src/identity/token.ts'],
    stages: [['src/identity/token.test.ts', 'src/identity/accounts.test.ts']],
  },
];
