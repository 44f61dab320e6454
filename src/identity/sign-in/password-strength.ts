import type { ZxcvbnFactory } from '@zxcvbn-ts/core';

/**
 * Whether a password is among the first that somebody tries who knows the e-mail address and how people choose: lists
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
