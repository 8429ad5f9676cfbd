/**
 * Programs that run for tasks, each in a process group of its own. Whoever ends one ends the whole group, first asking
 * and then by force, and the group is over only when no process of it is left.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { inheritedEnvironment } from '../client/program.ts';
import { after } from '../model/clock.ts';
import { pause, runtime, type Timer } from '../model/runtime.ts';

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly stdin?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeoutMs?: number;
  readonly killAfterMs: number;
}

export interface Ended {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
}

/** In the environment of every program, so that those that outlived a killed gateway are found. */
const mark = 'HOLDFAST_TASK';
/** After a program has ended, others may hold its output open. */
const lastWordsMs = 500;
const lookEveryMs = 20;
/** How long what was killed may take to be gone. */
const goneWithinMs = 5_000;

export class Programs {
  readonly #environment: Readonly<Record<string, string>>;
  readonly #ending = new Set<Promise<void>>();

  /** With what every program sees of the environment of this process. */
  constructor(environment = inheritedEnvironment()) {
    this.#environment = environment;
  }

  /** Resolves when the program has ended; when the signal fires its whole group is ended. */
  async run(program: Program, taskId: string, log: OutputLog, signal: AbortSignal): Promise<Ended> {
    const child = spawn(program.command, [...program.args], {
      detached: true,
      env: { ...this.#environment, ...program.env, [mark]: taskId },
      stdio: [program.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      ...(program.cwd !== undefined && { cwd: program.cwd }),
    });
    child.stdout?.on('data', (chunk: Buffer) => log.write(chunk));
    child.stderr?.on('data', (chunk: Buffer) => log.write(chunk));
    // A program that does not read all of its input is not to blame for that.
    child.stdin?.on('error', () => {}).end(program.stdin);
    const end = () => this.#end(child, program.killAfterMs);
    let timedOut = false;
    const onTimeout = () => {
      timedOut = true;
      end();
    };
    const cancelTimer = program.timeoutMs === undefined ? undefined : after(program.timeoutMs, onTimeout);
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    try {
      return { ...(await ended(child)), timedOut };
    } finally {
      cancelTimer?.();
      signal.removeEventListener('abort', end);
      if (timedOut) await Promise.all(this.#ending);
    }
  }

  /** Resolves when nothing is left of the programs that were told to end. */
  async close(): Promise<void> {
    await Promise.all(this.#ending);
  }

  /** Ends what a gateway that was killed has left running for a task. */
  async endOrphans(taskId: string, killAfterMs: number): Promise<void> {
    await Promise.all([...groupsOf(taskId)].map((group) => endGroup(group, killAfterMs)));
  }

  #end({ pid }: ChildProcess, killAfterMs: number): void {
    if (pid === undefined) return;
    const ending = endGroup(pid, killAfterMs).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

function ended(child: ChildProcess): Promise<Omit<Ended, 'timedOut'>> {
  return new Promise((resolve, reject) => {
    let lastWords: Timer | undefined;
    child.once('error', reject);
    child.once('exit', () => {
      lastWords = runtime.setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, lastWordsMs);
    });
    child.once('close', (exitCode, signal) => {
      runtime.clearTimeout(lastWords);
      resolve({ exitCode, signal });
    });
  });
}

async function endGroup(group: number, killAfterMs: number): Promise<void> {
  if (!signalGroup(group, 'SIGTERM')) return;
  for (const from = runtime.now(); runtime.now() - from < killAfterMs; await pause(lookEveryMs))
    if (!signalGroup(group, 0)) return;
  for (const from = runtime.now(); runtime.now() - from < goneWithinMs; await pause(lookEveryMs))
    if (!signalGroup(group, 'SIGKILL')) return;
}

/** False if there is nobody left to hear it. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}

/** Where the system shows what processes were started with; elsewhere they are not found. */
function groupsOf(taskId: string): Set<number> {
  const groups = new Set<number>();
  let pids: string[] = [];
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return groups;
  }
  for (const pid of pids)
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${mark}=${taskId}`)) continue;
      // After the name, which may have spaces and brackets in it: state, parent, group.
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
      if (group > 1) groups.add(group);
    } catch {
      // It ended meanwhile, or is another user's.
    }
  return groups;
}

// --- Output ------------------------------------------------------------------------------------------------

/** What a program wrote, up to a limit: the beginning and the end are kept, and how much is missing in between. */
export class OutputLog {
  readonly #limit: number;
  readonly #head: Buffer[] = [];
  #headSize = 0;
  #tail = Buffer.alloc(0);
  #written = 0;
  #lines = 0;
  #lastLine = '';

  constructor(limit: number) {
    this.#limit = limit;
  }

  get lines(): number {
    return this.#lines;
  }

  /** The last line that is not empty, as far as it was written. */
  get lastLine(): string {
    return this.#lastLine;
  }

  write(chunk: Buffer): void {
    this.#written += chunk.length;
    const room = Math.ceil(this.#limit / 2) - this.#headSize;
    const first = chunk.subarray(0, Math.max(0, room));
    if (first.length > 0) this.#head.push(first);
    this.#headSize += first.length;
    const rest = chunk.subarray(first.length);
    const keep = Math.floor(this.#limit / 2);
    if (rest.length > 0) this.#tail = Buffer.from(Buffer.concat([this.#tail, rest]).subarray(-keep));
    if (keep === 0) this.#tail = Buffer.alloc(0);
    for (const byte of chunk) if (byte === 10) this.#lines++;
    const line = chunk.toString().trimEnd().split('\n').at(-1)?.trim();
    if (line) this.#lastLine = line.slice(0, 200);
  }

  end(): { readonly output: string; readonly omittedBytes: number } {
    const head = Buffer.concat(this.#head);
    const omittedBytes = this.#written - head.length - this.#tail.length;
    const gap = omittedBytes > 0 ? `\n… ${omittedBytes} bytes left out …\n` : '';
    return { output: Buffer.concat([head, Buffer.from(gap), this.#tail]).toString(), omittedBytes };
  }
}
