import questions from '../../docs/guide/questions.json' with { type: 'json' };
import type { ChatRequest } from '../wire/openai/chat.ts';
import { UpstreamFailure } from '../upstream/port.ts';
import { answerFormatOf, lastUserMessage, messageText, toolChoiceOf } from './conversation.ts';
import { GUIDES, sectionsOf, type Section } from './guides.ts';
import { excerptOf, leadOf } from './excerpt.ts';
import { textReply, type HouseReply } from './reply.ts';
import { guideIndex, type Hit, type Query } from './retrieval.ts';
import { searchTermsOf } from './terms.ts';

/** House-guide's answer: the sections of the guides that match the question, quoted, or a plain "I do not know". */
export function guide(request: ChatRequest): HouseReply {
  refuseUnsupported(request);
  const text = answer(request);
  return textReply(answerFormatOf(request).kind === 'json' ? JSON.stringify({ answer: text }) : text);
}

/** Only the end of a longer question is read, where the actual question usually is. */
const MAX_QUESTION = 2_000;
const MAX_EARLIER = 4;
/**
 * With a smaller share of the question's terms than this a section is not an answer; below the second share it is not
 * even a hint.
 */
const SURE = 0.5;
const UNSURE = 0.35;

function answer(request: ChatRequest): string {
  const message = lastUserMessage(request);
  const question = message ? messageText(message).slice(-MAX_QUESTION).trim() : '';
  const first = !request.messages.some(({ role }) => role === 'assistant');
  const said = smallTalk(question);
  if (said) return withIntroduction(said, first);
  const hits = search(request, question);
  const [best] = hits;
  if (!best && /tollgate/i.test(question)) return withIntroduction(overview(), first);
  if (!best || best.coverage < UNSURE) return withIntroduction(unknown(), first);
  return withIntroduction(best.coverage >= SURE ? sure(hits, question) : unsure(best, question), first);
}

function search(request: ChatRequest, question: string): Hit[] {
  const hits = guideIndex().search(queryOf(request, question));
  // "Tell me more" must not quote the same section again.
  const quoted = request.messages
    .filter(({ role }) => role === 'assistant')
    .map(messageText)
    .join('\n');
  const rerated = hits.map(({ section, score, coverage }) => {
    const known = quoted.includes(`(${section.path})`) ? 0.5 : 1;
    return { section, coverage, score: score * scoreBonus(section, question) * known };
  });
  return rerated.sort((a, b) => b.score - a.score);
}

/** What the form of a question suggests about the kind of section that answers it. */
function scoreBonus(section: Section, question: string): number {
  if (/[a-z]_[a-z]|\berrors?\b|\b[45]\d\d\b/i.test(question) && section.guide.slug === 'errors') return 1.25;
  const asked = new Set(searchTermsOf(question));
  const onTopic = searchTermsOf(section.guide.title).every((term) => asked.has(term)) ? 1.25 : 1;
  const howTo = /\bhow\b|example|curl|snippet/i.test(question);
  return onTopic * (howTo && section.body.includes('```') ? 1.3 : 1);
}

/** The question's own terms; a short follow-up such as "and in Python?" also uses the question before it. */
function queryOf(request: ChatRequest, question: string): Query {
  const own = searchTermsOf(question.replace(/\bapi[ -]?keys?\b/gi, 'api token'));
  const query = new Map(own.map((term) => [term, 1]));
  const last = request.messages.findLastIndex(({ role }) => role === 'user');
  const earlier = request.messages
    .slice(0, Math.max(0, last))
    .filter(({ role }) => role === 'user')
    .slice(-MAX_EARLIER);
  if (earlier.length === 0 || (own.length > 3 && !REFERS_BACK.test(question))) return query;
  const weight = own.length === 0 ? 1 : 0.45;
  for (const [age, message] of earlier.toReversed().entries()) {
    for (const term of searchTermsOf(messageText(message).slice(-MAX_QUESTION))) {
      if (!query.has(term)) query.set(term, age === 0 ? weight : weight * 0.4);
    }
  }
  return query;
}

const REFERS_BACK = /\b(it|its|that|this|they|them|those|these|same|there)\b/i;

function sure(hits: readonly Hit[], question: string): string {
  const [best, ...others] = hits;
  if (!best) return unknown();
  const second = others.find(
    (hit) => hit.score > best.score * 0.72 && hit.coverage >= SURE && hit.section.body.length < 900,
  );
  const quoted = second ? [best, second] : [best];
  const parts = quoted.map((hit, index) => quote(hit.section, question, index === 0 ? 1_600 : 700));
  return [...parts, seeAlso(others.filter((hit) => !quoted.includes(hit) && hit.score > best.score * 0.3))]
    .filter((part) => part !== '')
    .join('\n\n');
}

function detail(lead: string): string {
  return lead === '' ? '' : `: ${lead}`;
}

function unsure(best: Hit, question: string): string {
  const caution = 'I am not sure that the guides answer this. The nearest I found:';
  return [
    caution,
    quote(best.section, question, 900),
    'If that is not it, try other words, or ask what I can answer.',
  ].join('\n\n');
}

function quote(section: Section, question: string, characters: number): string {
  return `### ${section.heading}\n\n${excerptOf(section, question, characters)}\n\n*From the guide* [${linkText(section)}](${section.path})`;
}

function linkText(section: Section): string {
  return section.heading === section.guide.title
    ? section.guide.title
    : `${section.guide.title}: ${section.heading}`;
}

function seeAlso(hits: readonly Hit[]): string {
  const sections = hits.slice(0, 3).map((hit) => hit.section);
  if (sections.length === 0) return '';
  return [
    '**See also**',
    ...sections.map((section) => `- [${linkText(section)}](${section.path})${detail(leadOf(section))}`),
  ].join('\n');
}

/** "What is Tollgate?" has no other terms than the name. */
function overview(): string {
  const [start] = GUIDES.slice(0, 1).flatMap(sectionsOf);
  return start ? quote(start, '', 1_600) : abilities();
}

function unknown(): string {
  return `I could not find that in Tollgate's guides, so I would rather not guess.\n\n${abilities()}`;
}

function abilities(): string {
  const guides = GUIDES.map((guide) => `[${guide.title}](/docs/${guide.slug})`).join(', ');
  const examples = questions.map((question) => `- ${question}`).join('\n');
  return `I can answer from these guides: ${guides}.\n\nFor example:\n\n${examples}`;
}

/** Once per conversation. */
function withIntroduction(text: string, first: boolean): string {
  return first
    ? `${text}\n\n---\n*I am House Guide. I look up passages in Tollgate's own documentation; I am not a neural model.*`
    : text;
}

function smallTalk(question: string): string | undefined {
  const plain = question
    .toLowerCase()
    .replace(/[^\p{L}\s]/gu, '')
    .trim();
  if (
    plain === '' ||
    /^(hi|hello|hey|hallo|hola|bonjour|привет|good (morning|afternoon|evening|day))( there| you| guide)?$/u.test(
      plain,
    )
  ) {
    return `Hello! Ask me anything about Tollgate.\n\n${abilities()}`;
  }
  if (
    /^(thanks|thank you|thx|ty|great|ok|okay|cool|perfect|nice)( very much| a lot| so much)?$/.test(plain)
  ) {
    return 'You are welcome. Ask whenever something else comes up.';
  }
  if (/^(help|what can you (do|answer)|who are you|what are you|what can i ask( you)?)$/.test(plain))
    return abilities();
  return undefined;
}

/** A clear refusal is better than an answer in the wrong form. */
function refuseUnsupported(request: ChatRequest): void {
  const choice = toolChoiceOf(request).kind;
  const forced = choice === 'required' || choice === 'named';
  const schema = answerFormatOf(request).kind === 'schema';
  if (!forced && !schema) return;
  const publicMessage = `house-guide ${forced ? 'does not call tools' : 'does not fill JSON schemas'}; house-echo does.`;
  throw new UpstreamFailure('rejected', publicMessage, { status: 400, publicMessage });
}
