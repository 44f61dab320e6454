/**
 * Whether a password is among those that everybody tries first. The published lists of the ten thousand most common
 * ones are, from eight characters on, almost only a well-known word with digits or signs around it, in "leet" spelling,
 * or twice; so this compares what is left after undoing that, which refuses the list and its obvious neighbours.
 */
export function isCommonPassword(password: string, email: string): boolean {
  const lower = password.toLowerCase();
  if (WHOLE.has(lower) || isMonotonous(lower) || isWalk(lower)) return true;
  const own = ownWords(email);
  return spellings(lower).some((spelling) => WORDS.has(spelling) || own.includes(spelling));
}

/** The ways a bare word hides: as it is, un-leeted, without what surrounds it, half of it when it is written twice. */
function spellings(text: string): string[] {
  const bare = [text, unleet(text)].flatMap((form) => [form, stripped(form)]);
  return [...bare, ...[stripped(text)].map(unleet)].flatMap((form) => [form, half(form)]);
}

function stripped(text: string): string {
  return text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
}

function unleet(text: string): string {
  return text.replace(/[@4301$5!7]/g, (sign) => LEET[sign] ?? sign);
}

const LEET: Record<string, string> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '0': 'o',
  '1': 'i',
  $: 's',
  '5': 's',
  '!': 'i',
  '7': 't',
};

function half(text: string): string {
  const middle = text.length / 2;
  return text.slice(0, middle) === text.slice(middle) ? text.slice(0, middle) : text;
}

/** "aaaaaaaa", "abababab", "123123123": three or fewer different characters say nothing. */
function isMonotonous(text: string): boolean {
  return new Set(text).size <= 3;
}

/** "12345678", "87654321", "abcdefgh", "qwertyui", and such a walk with a little at its ends. */
function isWalk(text: string): boolean {
  return WALKS.some((walk) => longestShared(text, walk) >= Math.max(6, text.length - 3));
}

const ROWS = [
  '1234567890',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qwertzuiop',
  'azertyuiop',
];
const COLUMNS = ['1qaz2wsx3edc4rfv5tgb', '1q2w3e4r5t6y7u8i9o0p', 'q1w2e3r4t5y6', 'qazwsxedcrfv', 'zaq12wsx'];
const WALKS = [...ROWS, ...COLUMNS, 'qwertyasdfgh', 'asdfghzxcvbn', 'qwerasdfzxcv']
  .flatMap((walk) => [walk, Array.from(walk).toReversed().join('')])
  .map((walk) => walk + walk);

function longestShared(text: string, walk: string): number {
  let longest = 0;
  for (let start = 0; start + longest < text.length; start++) {
    while (start + longest < text.length && walk.includes(text.slice(start, start + longest + 1))) longest++;
  }
  return longest;
}

function ownWords(email: string): string[] {
  return email.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length >= 4);
}

/** Passwords of the lists that are no word with decoration. */
const WHOLE = new Set(
  `trustno1 letmein1 1g2w3e4r zaq1zaq1 p@ssw0rd pa55word passw0rd a1b2c3d4 aa123456 a1234567 a12345678 a123456789
  q1w2e3r4 1q2w3e4r 123qwe123 123456qwerty qwerty123456 abcd1234 abc12345 abc123456 asdf1234 zxcv1234 qwer1234 asd123456
  woaini1314 5201314520 147258369 159357258 159753456 741852963 789456123 987654321 11223344 1122334455 112233445566
  123321123 123123123 1234abcd 12341234 12344321 123454321 19851985 19901990 20002000 20202020 31415926 314159265 27182818
  ncc1701d thx1138a rush2112 blink182 jordan23 michael1 number1a agent007 bond007007 r2d2c3po 4815162342 8675309a 8675309
  correcthorsebatterystaple correct horse battery staple`
    .split(/\s+/)
    .concat('correct horse battery staple'),
);

const WORDS = new Set(
  `password passwort passwd passphrase motdepasse contrasena contraseña senha parola parol haslo wachtwoord lozinka heslo
  qwerty qwertz azerty asdfgh zxcvbn iloveyou iloveu ilove loveyou lovely loveme letmein welcome welcometo admin
  administrator root superuser user username login guest test testing tester changeme change default secret topsecret
  private access access14 system server computer internet hello helloworld hellokitty whatever trustno nothing something
  anything monkey dragon master shadow sunshine princess superman batman spiderman football baseball basketball soccer
  hockey tennis golfer liverpool chelsea arsenal barcelona realmadrid juventus manchester mustang ferrari porsche mercedes
  corvette harley yamaha michael jennifer jessica ashley amanda daniel jordan thomas charlie andrew matthew joshua robert
  michelle nicole hannah samantha elizabeth alexander alexandra anthony benjamin brandon christian christopher david
  dennis diamond dolphin donald edward eminem eagles falcon fishing flower forever freedom friends gandalf garfield
  george ginger google gmail yahoo hotmail facebook twitter linkedin instagram youtube netflix amazon microsoft windows
  apple iphone android samsung nintendo playstation pokemon pikachu naruto minecraft fortnite starwars skywalker matrix
  merlin midnight mickey marina martin maverick mercury metallica nirvana slipknot ninja orange pepper peanut phoenix
  please player power purple rainbow ranger raider rachel richard rocket roadkill sabrina samson sandra scooter scooby
  silver slayer snoopy sophie spider steelers summer winter spring autumn september october november december january
  february monday tuesday wednesday thursday friday saturday sunday success sweety sweetheart taylor teresa thunder tiger
  tigger trouble turtle tucker victoria victory vincent viking warrior william wizard xavier yankees yellow angel angels
  animal babygirl babyboy banana beautiful blessed blessing bailey buster butterfly butterfly cameron caroline carlos
  champion cheese chicken chocolate chris cookie cowboy cowboys creative crystal darkness destiny doctor dreamer eclipse
  einstein electric elephant england europe evolution fantasy fender firebird flowers fluffy franklin fucking fuckyou
  fuckoff asshole bitch bullshit pussycat gateway genesis giants gladiator goldfish goodluck gorgeous grandma guitar
  hammer happiness happy heaven hercules holiday honda hunter iceman iloveyousomuch infinity jackson jasmine jesus
  jesuschrist justice justin killer kitten knight lakers lauren legend leonardo lightning little lollipop london lovers
  lucky maggie magic mermaid mexico miller million mommy money monster mother motorola mountain music mylove newyork
  oliver panther paradise paris passion patrick patriots peaches pirate platinum popcorn portugal president prince
  princesa qazwsx redskins remember reset rockstar rosebud samurai santiago savannah scorpion security shadow shannon
  shelby simple simpsons smokey snickers snowball soldier stalker stephanie steven sterling stupid sugar superstar
  sydney teacher teddybear tequila titanic tomorrow toyota trinity tropical twilight unicorn universe valentine vanessa
  vampire veronica virginia volleyball washington wildcats winner winston wolverine wonderful zombie america australia
  brasil canada deutschland france germany russia ukraine india pakistan china italia schalke hallo hallowelt schatz
  ficken sommer winter frühling herbst bonjour soleil doudou chouchou amour jetaime teamo amorcito tequiero mariposa
  estrella alejandro alejandra gabriel gabriela fernando ricardo roberto francisco natalia natasha nastya andrey dmitriy
  sergey vladimir privet lubov zvezda solnce marseille bordeaux toulouse tollgate gateway openai chatgpt claude
  temporary temp temppass newpassword mypassword yourpassword thepassword passwordpassword adminadmin rootroot
  letmeinnow opensesame abracadabra hunter blahblah asdfasdf qwerqwer zxcvzxcv lol lollol omgomg`
    .split(/\s+/)
    .filter((word) => word.length >= 3),
);
