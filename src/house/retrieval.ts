import { GUIDES, sectionsOf, type Section } from './guides.ts';
import { synonymsOf, searchTermsOf } from './terms.ts';

/** A section that may answer a question. */
export interface Hit {
  readonly section: Section;
  readonly score: number;
  /** How much of what the question asks about occurs in the section, 0 … 1, rare words weighing most. */
  readonly coverage: number;
}

/** A question's terms with their weights: what was asked now weighs 1, what was said before less. */
export type Query = ReadonlyMap<string, number>;

interface Index {
  search(query: Query): Hit[];
}

/** BM25 over the sections of the guides, built when the first question comes. */
export function guideIndex(): Index {
  built ??= makeIndex(GUIDES.flatMap(sectionsOf));
  return built;
}

let built: Index | undefined;

interface Entry {
  readonly section: Section;
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

const SATURATION = 1.3;
const LENGTH_WEIGHT = 0.4;
const HEADING_WEIGHT = 4;
const TITLE_WEIGHT = 2;
/** A synonym is a guess at what was meant. */
const SYNONYM_WEIGHT = 0.85;

function makeIndex(sections: readonly Section[]): Index {
  const entries = sections.map(makeEntry);
  const averageLength = entries.reduce((sum, entry) => sum + entry.length, 0) / Math.max(1, entries.length);
  const holders = new Map<string, number>();
  for (const entry of entries)
    for (const term of entry.counts.keys()) holders.set(term, (holders.get(term) ?? 0) + 1);
  const rarity = (term: string): number => {
    const count = holders.get(term) ?? 0;
    return Math.log(1 + (entries.length - count + 0.5) / (count + 0.5));
  };
  const strength = (entry: Entry, term: string): number => {
    const count = entry.counts.get(term) ?? 0;
    const norm = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * (entry.length / averageLength);
    return (rarity(term) * count * (SATURATION + 1)) / (count + SATURATION * norm);
  };
  return {
    search: (query) =>
      entries
        .map((entry) => rate(entry, query, { rarity, strength }))
        .filter((hit) => hit.score > 0)
        .sort((a, b) => b.score - a.score),
  };
}

interface Measures {
  readonly rarity: (term: string) => number;
  readonly strength: (entry: Entry, term: string) => number;
}

function rate(entry: Entry, query: Query, { rarity, strength }: Measures): Hit {
  let score = 0;
  let asked = 0;
  let found = 0;
  for (const [term, weight] of query) {
    const options = [
      { value: strength(entry, term), holds: entry.counts.has(term) ? 1 : 0 },
      ...synonymsOf(term).map((other) => ({
        value: strength(entry, other) * SYNONYM_WEIGHT,
        holds: entry.counts.has(other) ? SYNONYM_WEIGHT : 0,
      })),
    ];
    score += weight * Math.max(...options.map((option) => option.value));
    // Only the question itself has to be covered; what was said before it merely points the way.
    if (weight < 1) continue;
    asked += rarity(term);
    found += rarity(term) * Math.max(...options.map((option) => option.holds));
  }
  return { section: entry.section, score, coverage: asked === 0 ? 0 : found / asked };
}

function makeEntry(section: Section): Entry {
  const counts = new Map<string, number>();
  const add = (text: string, weight: number): void => {
    for (const term of searchTermsOf(text)) counts.set(term, (counts.get(term) ?? 0) + weight);
  };
  const body = searchTermsOf(section.body);
  for (const term of body) counts.set(term, (counts.get(term) ?? 0) + 1);
  add(section.heading, HEADING_WEIGHT);
  add(section.guide.title, TITLE_WEIGHT);
  return { section, counts, length: body.length };
}
