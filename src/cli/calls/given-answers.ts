/** Answers from the command line. Questions that they answer are not asked at the terminal. */
import type { Answer, Question } from '../../client/questions/question-callback.ts';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import { quoted, readJson, WrongUsage } from '../usage.ts';
import { oneLine } from '../views/terminal-text.ts';

/** Returns the given answer to a question; undefined if there is none. */
export type GivenAnswers = (question: Question) => Answer | undefined;

/**
 * Parses answers. An object whose keys are keys of questions answers these questions. Of the other answers, a single
 * one is used for every question; several are used in the order of the questions.
 */
export function givenAnswers(texts: readonly string[] = [], what = '--answer'): GivenAnswers {
  const all = texts.map((text) => {
    const answer = readJson(text, what);
    if (answer !== null && !isJsonObject(answer))
      throw new WrongUsage(`${what} takes a JSON object, or null to decline`);
    return answer;
  });
  let used = 0;
  return (question) => {
    const named = all.find((given) => given !== null && isNamedIn(given, question));
    if (named) return asAnswer(named[question.key]!, question);
    const plain = all.filter((given) => given === null || !isByKeyOnly(given, question));
    const next = plain.length === 1 ? plain[0] : plain[used++];
    return next === undefined ? undefined : asAnswer(next, question);
  };
}

/** Fields of forms are never objects, so an object under the key of the question is the answer to it. */
function isNamedIn(given: JsonObject, { key }: Question): boolean {
  return Object.hasOwn(given, key) && (given[key] === null || isJsonObject(given[key]));
}

/** True if the object contains answers by key, but none to this question. */
function isByKeyOnly(given: JsonObject, question: Question): boolean {
  const values = Object.values(given);
  return values.length > 0 && !isNamedIn(given, question) && values.every((value) => isJsonObject(value));
}

/** `null` declines. Any other answer to a link accepts it. */
function asAnswer(given: Json, { kind }: Question): Answer {
  if (given === null) return { action: 'decline' };
  return kind === 'url' ? { action: 'accept' } : { action: 'accept', content: given as JsonObject };
}

/** A template for the answer, quoted for a shell: `'{"name": …}'`. */
export function exampleOf(question: Question): string {
  if (question.kind !== 'form') return "'{}'";
  const { properties } = question.schema;
  const names = Object.keys(isJsonObject(properties) ? properties : {});
  return quoted(`{${names.map((name) => `"${oneLine(name)}": …`).join(', ')}}`);
}
