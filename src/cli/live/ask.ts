/** Puts a question to whoever sits at the terminal: forms field by field, links to be opened elsewhere. */
import { createInterface } from 'node:readline/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import type { Answer, Question } from '../../client/asking.ts';
import type { Json } from '../../model/json.ts';
import type { Paint } from './colours.ts';
import { type Field, fieldsOf, shownFallback } from './fields.ts';
import { clean, oneLine, truncate, wrap } from './width.ts';

export interface Desk {
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly paint: Paint;
  onInterrupt(): void;
}

class Declined extends Error {}

/** Rejects when the signal says that nobody need answer any more. */
export async function ask(question: Question, signal: AbortSignal, desk: Desk): Promise<Answer> {
  if (question.kind !== 'form' && question.kind !== 'url')
    throw new Error(`A ${question.kind} question is not for people.`);
  const person = new Person(desk, signal);
  try {
    person.hear('yellow', '?', question.message || `It asks "${question.key}".`);
    if (question.problem !== undefined) person.hear('red', '✖', question.problem);
    return question.kind === 'url'
      ? await confirmed(question.url, person)
      : await filled(fieldsOf(question.schema), person);
  } catch (error) {
    if (!(error instanceof Declined)) throw error;
    person.tell('Declined.');
    return { action: 'decline' };
  } finally {
    person.leave();
  }
}

async function filled(fields: readonly Field[], person: Person): Promise<Answer> {
  if (fields.length === 0) {
    const agrees = await person.agrees('Go on?');
    return agrees ? { action: 'accept', content: {} } : { action: 'decline' };
  }
  person.tell('Enter takes what is in [brackets]; Ctrl-D declines.');
  const content: Record<string, Json> = {};
  for (const field of fields) {
    const value = await person.fill(field);
    if (value !== undefined) content[field.name] = value;
  }
  return { action: 'accept', content };
}

/** Nothing is opened here: whether a link is to be trusted is for people to see first. */
async function confirmed(url: string, person: Person): Promise<Answer> {
  person.tell('Open this link to go on:');
  person.show(clean(url));
  return { action: (await person.agrees('Done?')) ? 'accept' : 'decline' };
}

/** Somebody at a terminal, for the time of one question. */
class Person {
  readonly #desk: Desk;
  readonly #signal: AbortSignal;
  readonly #lines: ReturnType<typeof createInterface>;
  readonly #left = new AbortController();

  constructor(desk: Desk, signal: AbortSignal) {
    this.#desk = desk;
    this.#signal = AbortSignal.any([signal, this.#left.signal]);
    const { input, output } = desk;
    this.#lines = createInterface({ input, output, terminal: true, historySize: 0 });
    this.#lines.on('SIGINT', () => desk.onInterrupt());
    this.#lines.on('close', () => this.#left.abort(new Declined()));
  }

  leave(): void {
    this.#lines.close();
  }

  hear(colour: 'yellow' | 'red', mark: string, text: string): void {
    const [first, ...rest] = wrap(clean(text), this.#columns - 3);
    this.#write(`${this.#desk.paint(colour, mark)} ${this.#desk.paint('bold', first!)}`);
    for (const line of rest) this.#write(`  ${this.#desk.paint('bold', line)}`);
  }

  tell(text: string): void {
    for (const line of wrap(text, this.#columns - 3)) this.#write(`  ${this.#desk.paint('dim', line)}`);
  }

  /** In one piece, however wide, so that it can be copied. */
  show(text: string): void {
    this.#write(`  ${text}`);
  }

  async agrees(prompt: string): Promise<boolean> {
    const [field] = fieldsOf({ properties: { [prompt]: { type: 'boolean' } }, required: [prompt] });
    return (await this.fill(field!)) === true;
  }

  /** Asks again until the words mean something. */
  async fill(field: Field): Promise<Json | undefined> {
    if (field.description !== undefined) this.tell(field.description);
    for (const [i, { title }] of field.choices.entries())
      this.#write(truncate(`  ${i + 1}  ${title}`, this.#columns - 1));
    for (;;) {
      const read = field.read(await this.#asked(field));
      if ('value' in read) return read.value;
      for (const line of wrap(read.problem, this.#columns - 5))
        this.#write(`    ${this.#desk.paint('red', line)}`);
    }
  }

  async #asked(field: Field): Promise<string> {
    const { label, hint, isRequired } = field;
    const fallback = shownFallback(field);
    const before = fallback === undefined ? (isRequired ? '' : ' []') : ` [${fallback}]`;
    const words = oneLine(label).replace(/:$/, '');
    const prompt = `${words}${hint === undefined ? '' : ` (${hint})`}${before}`;
    const end = /[?]$/.test(prompt) ? ' ' : ': ';
    // Half of a narrow terminal is left for the answer.
    return this.#lines
      .question(`  ${truncate(oneLine(prompt), Math.max(10, this.#columns - 16))}${end}`, {
        signal: this.#signal,
      })
      .catch((error: unknown) => {
        throw this.#signal.aborted ? this.#signal.reason : error;
      });
  }

  get #columns(): number {
    return this.#desk.output.columns || 80;
  }

  #write(line: string): void {
    this.#desk.output.write(`${line}\n`);
  }
}
