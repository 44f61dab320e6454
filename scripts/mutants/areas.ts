/**
 * Which tests answer for which files. A mutant is run against the stages of its area, the quickest first, until a test
 * fails, and of each stage only against tests that reach its file. The first stage are small tests, which run from the
 * nearest to the farthest; the files of the others run in this order, in one process each. This is the only place that
 * knows paths; a pattern that matches nothing is an error, and a test that a later stage names itself is left to it.
 */
export interface Area {
  readonly name: string;
  readonly sources: readonly string[];
  readonly except?: readonly string[];
  readonly stages: readonly (readonly string[])[];
  /** Tried only with `--only`. */
  readonly onlyWhenNamed?: true;
}

const GOLDEN = 'test/golden/golden.test.ts';

export const AREAS: readonly Area[] = [
  {
    name: 'ledger on SQLite',
    sources: ['src/ledger/*.ts', 'src/ledger/sqlite/*.ts'],
    except: ['src/ledger/**/*.test.ts'],
    stages: [
      ['src/ledger/*.test.ts', 'src/ledger/sqlite/group-commit.test.ts'],
      [
        'src/ledger/sqlite/contract.test.ts',
        'src/ledger/sqlite/ledger.test.ts',
        'src/ledger/sqlite/turn-of-the-day.test.ts',
        'src/ledger/sqlite/receipt-late.test.ts',
        'src/cli/archive.test.ts',
        'src/console/archived.test.ts',
        'src/activity/usage-hours.test.ts',
        'src/ledger/sqlite/model.test.ts',
        'src/ledger/sqlite/crash.test.ts',
        'src/ledger/archive-crash.test.ts',
      ],
      ['test/stories/quotes.test.ts'],
    ],
  },
  {
    name: 'ledger on Postgres',
    sources: ['src/ledger/postgres/*.ts'],
    except: ['src/ledger/postgres/*.test.ts'],
    stages: [
      [
        'src/ledger/postgres/arrays.test.ts',
        'src/ledger/postgres/admission-batch.test.ts',
        'src/ledger/postgres/settlement-rows.test.ts',
        'src/ledger/postgres/numbers.test.ts',
        'src/ledger/postgres/posting.test.ts',
        'src/ledger/postgres/pool-rest.test.ts',
        'src/ledger/postgres/batch*.test.ts',
        'src/ledger/postgres/uncertain-admissions.test.ts',
      ],
      [
        'src/ledger/postgres/contract.test.ts',
        'src/ledger/postgres/decide.test.ts',
        'src/ledger/postgres/issued-holds.test.ts',
        'src/ledger/postgres/functions.test.ts',
        'src/ledger/postgres/pool.test.ts',
        'src/ledger/postgres/broken-connections.test.ts',
        'src/ledger/postgres/lost-answers.test.ts',
        'src/ledger/postgres/model.test.ts',
      ],
      ['test/stories/store-metrics.test.ts'],
    ],
  },
  {
    name: 'relay',
    sources: ['src/relay/*.ts', 'src/relay/hold/*.ts'],
    except: ['src/relay/**/*.test.ts'],
    stages: [
      ['src/relay/*.test.ts', 'src/relay/hold/*.test.ts'],
      [
        'test/stories/embeddings-money.test.ts',
        'test/stories/untouched.test.ts',
        GOLDEN,
        'test/stories/ends.test.ts',
        'test/stories/health.test.ts',
        'test/stories/left-streams.test.ts',
        'test/stories/called-once.test.ts',
        'test/stories/playground.test.ts',
        'test/stories/money.test.ts',
        'test/stories/routing.test.ts',
      ],
      [
        'test/stories/image-{abilities,prices,streams,token-streams,edits,jobs}.test.ts',
        'test/stories/{fields,max-cost,backend-choice,true-holds,metrics,request-logs}.test.ts',
        'test/stories/{when-a-client-leaves,count-tokens,broken-keys,attachments,teams}.test.ts',
        'test/responses/background.test.ts',
        'test/faults/image-job-adoption.test.ts',
      ],
    ],
  },
  {
    name: 'streams',
    sources: ['src/relay/stream/*.ts', 'src/std/sse.ts'],
    except: ['src/relay/stream/*.test.ts'],
    stages: [
      ['src/relay/stream/*.test.ts', 'src/relay/first-event.test.ts', 'src/std/sse*.test.ts'],
      [
        'test/stories/left-streams.test.ts',
        'test/stories/untouched.test.ts',
        GOLDEN,
        'test/stories/ends.test.ts',
        'test/stories/odd-answers.test.ts',
      ],
      [
        'test/stories/{priced-usage,when-a-client-leaves,claude-bill,image-streams,attachments,metrics}.test.ts',
      ],
    ],
  },
  {
    name: 'money and tokens',
    sources: ['src/std/money.ts', 'src/std/token-estimate.ts', 'src/tokenizer/*.ts'],
    except: ['src/tokenizer/*.test.ts'],
    stages: [
      [
        'src/std/money.test.ts',
        'src/std/token-estimate.test.ts',
        'src/tokenizer/*.test.ts',
        'src/ledger/price.test.ts',
        'src/ledger/decide.test.ts',
      ],
      [
        'src/relay/stream/meter*.test.ts',
        'test/stories/count-tokens.test.ts',
        'src/ledger/sqlite/contract.test.ts',
      ],
    ],
  },
  {
    name: 'token',
    sources: ['src/identity/accounts/token.ts'],
    stages: [['src/identity/accounts/token.test.ts', 'src/identity/accounts/accounts.test.ts']],
  },
  {
    name: 'dialects',
    // What these files make is in the golden corpus, whose half minute is too long for a part of every sample.
    onlyWhenNamed: true,
    sources: ['src/wire/**/*.ts'],
    except: ['src/wire/**/*.test.ts'],
    stages: [
      ['src/wire/**/*.test.ts', 'src/relay/input/bound.test.ts'],
      [GOLDEN],
      ['test/clients/{openai,anthropic,google-genai,bodies,event-order,text-completions}.test.ts'],
      ['test/matrix/matrix.test.ts', 'test/providers/{readme-openai,tool-history}.test.ts'],
    ],
  },
];
