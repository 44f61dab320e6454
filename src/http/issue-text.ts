import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

/**
 * What is wrong with a field, as a sentence: the library's own words are not for people. Undefined where the schema says it
 * in words of its own.
 */
export function issueText(issue: Issue, field: string): string | undefined {
  const rule = ruleOf(issue);
  return rule === undefined ? undefined : `${field} must ${rule}.`;
}

function ruleOf(issue: Issue): string | undefined {
  if (!/^(?:Invalid (?:input|option)|Too (?:big|small)|expected) ?/.test(issue.message)) return undefined;
  switch (issue.code) {
    case 'invalid_type':
      return `be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'invalid_union':
      return `be ${oneOf(typesIn(issue.message))}`;
    case 'too_big':
      return limitText(
        issue.origin,
        issue.inclusive === false ? 'less than' : 'at most',
        Number(issue.maximum),
      );
    case 'too_small':
      return limitText(
        issue.origin,
        issue.inclusive === false ? 'more than' : 'at least',
        Number(issue.minimum),
      );
    case 'invalid_value':
      return `be ${oneOf(issue.values.map((value) => JSON.stringify(value)))}`;
    case 'custom':
    case 'invalid_element':
    case 'invalid_format':
    case 'invalid_key':
    case 'not_multiple_of':
    case 'unrecognized_keys':
      return undefined;
  }
}

/** Where each alternative wants another type: `expected string or array`. */
function typesIn(message: string): string[] {
  return message
    .replace('expected ', '')
    .split(' or ')
    .filter((one) => one !== '')
    .map((one) => TYPES[one] ?? one);
}

function oneOf(names: readonly string[]): string {
  return [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((text) => text !== '').join(' or ');
}

function limitText(origin: string, bound: string, limit: number): string {
  const thing = { string: 'character', array: 'item' }[origin];
  if (thing === undefined) return `be ${bound} ${limit}`;
  return `have ${bound} ${limit} ${thing}${limit === 1 ? '' : 's'}`;
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a text',
};
