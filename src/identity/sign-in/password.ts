import { availableParallelism } from 'node:os';
import { BoundedQueue } from '../../std/bounded-queue.ts';
import { AuthRefusal } from './refusal.ts';
import { isEasyToGuess } from './password-strength.ts';

/** Hashes and checks passwords, a few at a time. */
export interface Passwords {
  hash(password: string): Promise<string>;
  verify(password: string, hash: string): Promise<boolean>;
}

export interface PasswordOptions {
  /** How many hashes may be computed at once; by default half the cores. */
  readonly parallel?: number;
  readonly queue?: number;
  /** What a hash costs; tests that sign in hundreds of times take the least. */
  readonly cost?: PasswordCost;
}

export interface PasswordCost {
  readonly memoryKib: number;
  readonly passes: number;
}

const FULL_COST: PasswordCost = { memoryKib: 19_456, passes: 2 };
const MAX_WAITING = 50;

/**
 * argon2id takes 19 MiB and tens of milliseconds of CPU each time. Many sign-ins at once must neither starve API requests
 * nor pile up: half the cores compute, a short queue waits, the rest is refused with a retry time.
 */
export function makePasswords(options: PasswordOptions = {}): Passwords {
  const limited = makeLimiter(
    options.parallel ?? Math.max(1, Math.floor(availableParallelism() / 2)),
    options.queue ?? MAX_WAITING,
  );
  const { memoryKib, passes } = options.cost ?? FULL_COST;
  return {
    hash: (password) =>
      limited(() =>
        Bun.password.hash(normalized(password), {
          algorithm: 'argon2id',
          memoryCost: memoryKib,
          timeCost: passes,
        }),
      ),
    verify: (password, hash) => limited(() => Bun.password.verify(normalized(password), hash)),
  };
}

export const MIN_PASSWORD = 8;
export const MAX_PASSWORD = 128;

/** Refuses a password that is too short, too long or among the first that an attacker tries. Runs before any hashing. */
export async function checkNewPassword(password: string, email: string): Promise<void> {
  const text = password.length > 4 * MAX_PASSWORD ? password : normalized(password);
  const { length } = Array.from(text);
  if (length < MIN_PASSWORD || length > MAX_PASSWORD) {
    throw weak(`A password has ${MIN_PASSWORD} to ${MAX_PASSWORD} characters.`);
  }
  if (await isEasyToGuess(text, email)) throw weak('This password is too easy to guess. Choose another one.');
}

function weak(message: string): AuthRefusal {
  return new AuthRefusal('weak_password', message, { param: 'password' });
}

/** The same password typed on another keyboard may arrive as other code points. */
function normalized(password: string): string {
  return password.normalize('NFKC');
}

type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

function makeLimiter(parallel: number, waiting: number): Limiter {
  const queue = new BoundedQueue({ parallel, waiting });
  return async (work) => {
    const turn = queue.enter();
    if (!turn) {
      throw new AuthRefusal('service_unavailable', 'Too many people are signing in right now. Try again.', {
        retryAfterMs: 2_000,
      });
    }
    const leave = await turn;
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
