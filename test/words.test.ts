/** Plain words: the sources, the dashboard and the docs use the words that a reader would search for. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** Words to avoid, and what to write instead. Identifiers count, too: they are split into their words. */
const avoided: readonly (readonly [RegExp, string])[] = [
  [/\banew\b/, 'again'],
  [/\bfor ever\b/, 'permanently'],
  [/\bmeanwhile\b/, 'in the meantime, or nothing'],
  [/\bwho(m)?ever\b/, 'the caller, the worker, anyone'],
  [/\bso long\b/, 'how long exactly'],
  [/\bmended\b/, 'repaired, fixed'],
  [/\b(dis)?honest(ly)?\b/, 'correct, well-behaved'],
  [/\bbesides?\b/, 'next to, in addition to'],
  [/\bbehind\b(?! (a|the|an|one) (proxy|pooler|load balancer|gateway|firewall))/, 'after'],
  [/\b(go|goes|going|went|gone) on\b/, 'continue, resume'],
  [/\bunder way\b/, 'in progress, open, in flight'],
  [/\b(became|becomes|become) of\b/, 'result, outcome'],
  [/\bwish(es|ed)?\b/, 'request, ask for'],
  [/(?<!\bthere )\b(is|are) no(?! longer| more)\b/, 'is not a'],
  [/\b(stands|stood)\b/, 'is'],
  [/\b(hear|hears|heard)\b/, 'receive, is notified'],
  [/\b(tell|tells|told)\b/, 'report, show, notify'],
  [/\b(say|says|said)\b/, 'set, report, send, declare'],
  [/\bdesk\b/, 'operator API'],
  [/\bstory\b/, 'history'],
  [/\bsurvey(s|or)?\b/, 'query'],
  [/\bstandings?\b/, 'status'],
  [/\bnews\b/, 'changes'],
  [/\brequestors?\b/, 'caller'],
  [/\bholders?\b/, 'worker'],
  [/\bledger\b/, 'call registry'],
  [/\bset aside\b/, 'blocked'],
  [/\b(deepest|longest|shortest|largest|most) (size|value|result|journal|owner)\b/, 'max…, min…'],
];

const root = join(import.meta.dirname, '..');
const folders = ['src', 'dashboard/src', 'docs', 'bin'];
const texts = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md'];

test.each(texts.concat(...folders.map(filesIn)))('%s uses plain words', (file) => {
  const found = hits(readFileSync(join(root, file), 'utf8'));
  expect(found).toEqual([]);
});

test.each([
  [
    'Whoever waits is told.',
    ['1: "Whoever": the caller, the worker, anyone', '1: "told": report, show, notify'],
  ],
  ['const storyReader = 1;', ['1: "story": history']],
  ['There is no task behind a proxy.', []],
  ['The task is no root.', ['1: "is no": is not a']],
])('a word to avoid is found: %s', (text, expected) => {
  expect(hits(text)).toEqual(expected);
});

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(tsx?|js|md|css|html)$/.test(file) && !/\.test\./.test(file))
    .map((file) => join(folder, file));
}

function hits(text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    const plain = words(line);
    return avoided.flatMap(([pattern, instead]) => {
      const word = new RegExp(pattern, 'i').exec(plain)?.[0];
      return word === undefined ? [] : [`${index + 1}: "${word}": ${instead}`];
    });
  });
}

/** `storyReader` and `story_reader` as "story Reader" and "story reader". */
function words(line: string): string {
  return line.replace(/([a-z])(?=[A-Z])/g, '$1 ').replaceAll('_', ' ');
}
