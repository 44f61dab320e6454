/**
 * Common English words. Each, with the space before it, is one token for the tokenizers of most models, so that whoever
 * has to count a text without a report comes to the number that the backend bills.
 */
const WORDS = (
  'apple arm art baby back bag ball band bank base bath bean bear bed bell belt bench bird blade block board boat body ' +
  'bone book boot bottle bowl box branch brass bread brick bridge brush bus button cable cake camp card case castle cat ' +
  'chain chair chalk church circle city clay clock cloth cloud coal coat code coffee coin copper corn cotton cow crown cup ' +
  'curve desk dog door dream dress drum dust ear earth edge egg engine eye face farm father field finger fire fish flag ' +
  'floor flower fly food foot forest fork fox frame friend fruit garden gate glass glove gold grain grass green ground ' +
  'hand hat head heart hill hole honey horse house ice ink iron island jewel key king kiss knee knife lake lamp land leaf ' +
  'leg letter library light line lion lip lock map mark market match meal meat metal milk mind mirror moon morning mother ' +
  'mountain mouth music nail name neck needle nest net night north nose nut oil orange oven page paint pan paper park pen ' +
  'pencil picture pig pin pipe plane plant plate pocket pond pool port pot potato queen rail rain rat ring river road rock ' +
  'roof room root rope salt sand school sea seat seed sheep shelf ship shirt shoe silk silver sister skin sky snake snow ' +
  'soap song soup south spoon spring square stage stamp star station steel stem stick stone store story street sugar ' +
  'summer sun table tail taste tea thread thumb ticket tiger time tin toe tooth town train tray tree truck voice wall watch'
).split(' ');

/** Enough for every call of a run to have its own. */
const CUE_WORDS = 4;

/** Words that follow from the seed and never repeat in a short cycle: a gateway may cut a stream that repeats itself. */
export function* wordsFrom(seed: number): Generator<string, never> {
  let state = seed + 1;
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield WORDS[(state >>> 8) % WORDS.length] ?? 'apple';
  }
}

export function text(words: number, seed = 1): string {
  const source = wordsFrom(seed);
  return Array.from({ length: words }, () => source.next().value).join(' ');
}

/** A few words that stand for one scene of the backend, in the words of a prompt. */
export function cueOf(number: number): string {
  let rest = number;
  const cue: string[] = [];
  for (let index = 0; index < CUE_WORDS; index++) {
    cue.push(WORDS[rest % WORDS.length] ?? 'apple');
    rest = Math.floor(rest / WORDS.length);
  }
  return `cue ${cue.join(' ')} end`;
}

export function cueIn(prompt: string): string | undefined {
  return /cue (?:[a-z]+ ){4}end/.exec(prompt)?.[0];
}

/** What the backend takes a text for: a token for each word. */
export function tokensOf(content: string): number {
  return content.split(/\s+/).filter((word) => word !== '').length;
}
