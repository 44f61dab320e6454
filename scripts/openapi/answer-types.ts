import type { Answer, ConsoleRoute } from '../../src/console/contract/routes.ts';

/** What each operation answers with, as `operator-answers.ts` reads it from the compiler. `never`: a file. */
export type OperatorAnswers = {
  [
    Name in ConsoleRoute as Name extends `${string} /api/console/admin/${string}` ? Name : never
  ]: Answer<Name>;
};
