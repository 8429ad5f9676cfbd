/** Child processes that print JSON lines, and those that carry out commands, one a line. */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Program } from './process.ts';

const tests = new URL('..', import.meta.url);

export interface ChildOptions {
  readonly maxFiles?: number | undefined;
  readonly imports?: readonly string[];
}

/** Runs a program, given by its URL or its path in `test/`, and hears the lines that it prints before it ends, however it ends. */
export class Child<Line> extends Program {
  constructor(
    program: string,
    argument: unknown,
    hear: (line: Line) => void,
    { maxFiles, imports = [] }: ChildOptions = {},
  ) {
    const preloads = imports.flatMap((module) => ['--import', module]);
    const command = [
      process.execPath,
      ...preloads,
      fileURLToPath(new URL(program, tests)),
      JSON.stringify(argument),
    ];
    // The shell becomes the program, so that the pid is the program's.
    if (maxFiles !== undefined) command.unshift('sh', '-c', `ulimit -n ${maxFiles}; exec "$@"`, 'sh');
    super(command);
    let torn: string | undefined;
    this.lines.on('line', (text) => {
      if (torn !== undefined) throw new Error(`A child went on after half a line: ${torn}`);
      const line = whole<Line>(text);
      if (line) hear(line);
      else torn = text;
    });
  }
}

/** A process that dies while it writes leaves half a line, which acknowledges nothing. */
export function whole<Line>(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: each command has its own arguments.
export type Commands = Readonly<Record<string, (...args: any[]) => Promise<unknown>>>;

type Reply = {
  n: number;
  value?: unknown;
  error?: { name: string; code?: string | undefined; message: string };
};

/** A child that carries out commands (`obey`). Errors have the names that they had in the child. */
export class Commanded<C extends Commands, Line = never> extends Child<Reply | Line> {
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #sent = 0;

  constructor(
    program: string,
    argument: unknown,
    hear: (line: Line) => void = () => {},
    options: ChildOptions = {},
  ) {
    const heard = (line: Reply | Line) => {
      if (!isReply(line)) return hear(line);
      const { n, value, error } = line;
      const { resolve, reject } = this.#pending.get(n)!;
      this.#pending.delete(n);
      if (error) reject(Object.assign(new Error(), error));
      else resolve(value);
    };
    super(program, argument, heard, options);
    this.exit.then(({ code, signal }) => {
      const error = new Error(`The process ended (${signal ?? code}). ${this.complaints}`);
      for (const { reject } of this.#pending.values()) reject(error);
    });
  }

  do<N extends keyof C & string>(command: N, ...args: Parameters<C[N]>): ReturnType<C[N]> {
    const n = ++this.#sent;
    const reply = Promise.withResolvers<unknown>();
    // A process that is killed answers nothing more, which may be what the test wants.
    reply.promise.catch(() => {});
    this.#pending.set(n, reply);
    this.tell({ n, command, args });
    return reply.promise as ReturnType<C[N]>;
  }
}

function isReply(line: unknown): line is Reply {
  return typeof (line as Partial<Reply>).n === 'number';
}

/** Prints a line synchronously: what was printed stays even if the process is killed next. */
export function say(line: unknown): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** The child's side: carries out each command that comes in, and prints its result. */
export function obey(commands: Commands): void {
  const orders = createInterface({ input: process.stdin });
  // No child outlives its test, which closes our standard input when it ends.
  orders.on('close', () => process.exit(1));
  orders.on('line', async (text) => {
    const { n, command, args } = JSON.parse(text);
    await commands[command]!(...args).then(
      (value) => say({ n, value } satisfies Reply),
      ({ name, code, message }: Error & { code?: string }) =>
        say({ n, error: { name, code, message } } satisfies Reply),
    );
  });
}
