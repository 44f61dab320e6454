/** Numbers and texts that follow from a seed alone, so that a run can be repeated. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** mulberry32: from 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Both ends are possible. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.integer(0, values.length - 1)];
    if (value === undefined) throw new Error('nothing to pick from');
    return value;
  }

  shuffled<T>(values: readonly T[]): T[] {
    const mixed = [...values];
    for (let last = mixed.length - 1; last > 0; last--) {
      const other = this.integer(0, last);
      const kept = mixed[last];
      mixed[last] = mixed[other] as T;
      mixed[other] = kept as T;
    }
    return mixed;
  }

  /** Ordinary sentences. */
  prose(words: number): string {
    let text = '';
    for (let word = 0; word < words; word++) {
      const end = word % 13 === 12 ? '.' : word % 29 === 28 ? ',\n' : '';
      text += (word === 0 ? '' : ' ') + this.pick(WORDS) + end;
    }
    return text;
  }

  /** Text on which a bound that assumes ordinary words is too low. */
  hostile(characters: number): string {
    const make = this.pick(HOSTILE);
    let text = '';
    while (text.length < characters) text += make(this);
    return text;
  }
}

const WORDS =
  `the a gate keeper opens closes counts every visitor who comes in the morning and writes down what was
  paid because nobody else remembers it after lunch when numbers are compared with those of the provider invoice token
  account balance receipt request answer stream model price dollar hold charge settle refund retry backend client
  socket buffer über façade naïve Straße 東京 сегодня function return const value 42 1789 3.14 {"key": [1, 2]} =>`.split(
    /\s+/,
  );

const HOSTILE: readonly ((random: Random) => string)[] = [
  (random) => String(random.integer(0, 9)),
  (random) => random.pick(['!', '?', ';', '(', ')', '~', '^', '|', '\\', '@']),
  (random) => random.pick([...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/']),
  (random) => random.pick([...'0123456789abcdef']),
  (random) => random.pick(['😀', '🧮', '👩‍🚀', '🏳️‍🌈', '🜁']),
  (random) => random.pick([...'龘靐齉齾爩麤灪龖厵滟爨癵籱饢驫鲡']),
  (random) => random.pick([' ', '\n', '\t', '  ', '\r\n', '\u00a0']),
];
