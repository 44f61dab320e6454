import { availableParallelism } from 'node:os';
import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { BoundedQueue } from '../../std/bounded-queue.ts';
import { Fault } from '../../std/fault.ts';

/** Hashes and checks passwords, a few at a time. */
export interface Passwords {
  hash(password: string): Promise<string>;
  verify(password: string, hash: string): Promise<boolean>;
}

interface PasswordOptions {
  /** How many hashes may be computed at once; by default half the cores. */
  readonly parallel?: number;
  readonly queue?: number;
  /** The work of a hash; tests that sign in hundreds of times use the least. */
  readonly cost?: PasswordCost;
}

interface PasswordCost {
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

function weak(message: string): Fault {
  return new Fault('weak_password', message, { param: 'password' });
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
      throw new Fault('service_unavailable', 'Too many people are signing in right now. Try again.', {
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

/**
 * Whether a password is among the first that somebody tries who knows the email address and how people choose: lists
 * of stolen ones, words and names in every usual disguise, keyboard walks, dates, repetitions.
 */
export async function isEasyToGuess(password: string, email: string): Promise<boolean> {
  loading ??= load();
  const estimator = await loading;
  const { guesses } = estimator.check(password.slice(0, MAX_ESTIMATED), ownWords(email));
  return guesses < MIN_GUESSES;
}

/** Sign-in is slowed down to a few hundred tries a day, and a stolen hash costs tens of milliseconds a try. */
const MIN_GUESSES = 3e7;
/**
 * The estimate takes longer with the square of the length, on the thread that serves requests. What withstands so many
 * guesses at its beginning withstands them as a whole.
 */
const MAX_ESTIMATED = 32;
/** Disguised letters are tried in combination; with the usual hundred, a hostile password takes a second. */
const MAX_SUBSTITUTIONS = 5;

let loading: Promise<ZxcvbnFactory> | undefined;

/** The dictionaries take 60 MB and a few hundred milliseconds: only a process that is given a password loads them. */
async function load(): Promise<ZxcvbnFactory> {
  const [{ ZxcvbnFactory }, common, english] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
    import('@zxcvbn-ts/language-en'),
  ]);
  // Ninety thousand family names make a third of the weight and add next to nothing.
  const { 'lastnames-en': _, ...words } = english.dictionary;
  return new ZxcvbnFactory({
    dictionary: { ...common.dictionary, ...words, more: MORE_WORDS },
    graphs: common.adjacencyGraphs,
    l33tMaxSubstitutions: MAX_SUBSTITUTIONS,
    maxLength: MAX_ESTIMATED,
  });
}

function ownWords(email: string): string[] {
  return [email, ...email.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length >= 4)];
}

/** What people use that the English dictionaries lack, or have so late that a year behind it would do. */
const MORE_WORDS =
  `password passwort qwertz azerty tollgate openai chatgpt claude gateway admin administrator superuser root login
  passphrase motdepasse contrasena contraseña senha parola parol haslo wachtwoord lozinka heslo newpassword yourpassword
  mypassword thepassword hallo hallowelt helloworld welcometo schatz sommer frühling herbst deutschland schalke ficken
  bonjour soleil doudou chouchou amour jetaime marseille teamo amorcito tequiero mariposa estrella brasil italia privet
  lubov zvezda solnce natasha nastya gmail yahoo hotmail linkedin netflix fortnite minecraft instagram facebook
  iloveyousomuch woaini1314 5201314520 correcthorsebatterystaple`
    .split(/\s+/)
    .concat('correct horse battery staple');
