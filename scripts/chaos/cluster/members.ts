/** The processes of the cluster: starts, kills, stalls and replaces them, and records all of it. */
import { setTimeout as pause } from 'node:timers/promises';
import type { LogEntry } from '../../../src/index.ts';
import { Child } from '../../../test/kit/child.ts';
import type { Random } from '../../../test/kit/random.ts';
import { Peer } from '../../../test/techniques/load/peer.ts';
import type { Problem } from '../problem.ts';
import { type Fate, type HistoryFile, moment } from './history.ts';
import type { MemberMessage, MemberOptions, Order } from './member.ts';

type Role = MemberOptions['role'];

export interface Member {
  readonly name: string;
  readonly role: Role;
  readonly child: Child<MemberMessage>;
  readonly ready: Promise<void>;
  /** Present on a server that is ready. */
  peer?: Peer;
  /** It was killed or has exited. */
  isGone: boolean;
  isStalled: boolean;
}

export type CommonOptions = Omit<MemberOptions, 'name' | 'role' | 'clockMs'>;

const preload = import.meta.resolve('../../../test/techniques/chaos/movable-clock.ts');

const maxStopMs = 20_000;

export class Members {
  readonly problems: Problem[] = [];
  /** Log entries of workers, with the name of the process. */
  readonly logs: { readonly process: string; readonly entry: LogEntry }[] = [];
  kills = 0;
  readonly #options: CommonOptions;
  readonly #history: HistoryFile;
  readonly #program: string;
  readonly #members: Record<Role, Member[]> = { server: [], worker: [] };
  #started = 0;
  #isOver = false;
  /** The default clock offset of processes. */
  #clockMs = 0;

  constructor(options: CommonOptions, history: HistoryFile, program = import.meta.resolve('./member.ts')) {
    this.#options = options;
    this.#history = history;
    this.#program = program;
  }

  /** Starts the processes of each role, and resolves when all of them are ready. */
  async start(sizes: Readonly<Record<Role, number>>): Promise<void> {
    for (const role of ['server', 'worker'] as const)
      for (let n = 0; n < sizes[role]; n++) this.#members[role].push(this.#start(role));
    await Promise.all(this.all.map(({ ready }) => ready));
  }

  get all(): Member[] {
    return [...this.#members.server, ...this.#members.worker];
  }

  of(role: Role): readonly Member[] {
    return this.#members[role];
  }

  /** A random server that is probably alive. Rejects when the run is over. */
  async anyServer(random: Random): Promise<Member & { readonly peer: Peer }> {
    for (;;) {
      if (this.#isOver) throw new Error('The run is over.');
      const member = random.oneOf(this.#members.server);
      if (member.peer) return member as Member & { readonly peer: Peer };
      await pause(20);
    }
  }

  /** Sends `kill -9` to all at once and replaces them after a while. Resolves when the replacements are ready. */
  async kill(members: readonly Member[], downMs: number): Promise<void> {
    for (const member of members) {
      this.kills++;
      member.isGone = true;
      this.#record(member, 'killed');
      void member.child.kill();
    }
    await Promise.all(members.map(({ child }) => child.exit));
    await pause(downMs);
    await Promise.all(members.map((member) => this.#replace(member).ready));
  }

  stop(member: Member): void {
    this.#record(member, 'stopped');
    member.child.stop();
  }

  continue(member: Member): void {
    if (member.isGone) return;
    this.#record(member, 'continued');
    member.child.go();
  }

  /** Stops the process with SIGSTOP, or blocks its event loop, for `ms`. It may be killed in the meantime. */
  async stall(member: Member, how: 'stop' | 'block', ms: number): Promise<void> {
    member.isStalled = true;
    if (how === 'stop') this.stop(member);
    else this.#order(member, { order: 'block', ms });
    await pause(ms);
    if (how === 'stop') this.continue(member);
    member.isStalled = false;
  }

  /** Sets the clocks of some processes to the true time plus `ms`; without `some`, of all current and future ones. */
  moveClocks(ms: number, some?: readonly Member[]): void {
    if (!some) this.#clockMs = ms;
    for (const member of some ?? this.all) {
      if (member.isGone) continue;
      this.#history.add({ what: 'clock', process: member.name, offsetMs: ms, at: moment() });
      this.#order(member, { order: 'clock', ms });
    }
  }

  /** Stops all processes and checks that they exit. */
  async stopAll(): Promise<void> {
    await Promise.all(
      this.all.map(async (member) => {
        this.#record(member, 'ended');
        this.#order(member, { order: 'stop' });
        const exit = await Promise.race([member.child.exit, pause(maxStopMs, undefined, { ref: false })]);
        const { code, signal } = exit ?? (await member.child.kill());
        if (code !== 0)
          this.#complain(
            `${member.name} ended with code ${code} and signal ${signal} when it was stopped. ${member.child.complaints}`,
          );
      }),
    );
  }

  async killAll(): Promise<void> {
    this.#isOver = true;
    for (const { peer } of this.all) peer?.close();
    await Promise.all(this.all.map(({ child }) => child.kill()));
  }

  #start(role: Role): Member {
    const name = `${role}-${++this.#started}`;
    const ready = Promise.withResolvers<void>();
    const onMessage = (message: MemberMessage) => {
      if (message.kind === 'log') this.logs.push({ process: name, entry: message.entry });
      if (message.kind === 'failed') this.#complain(`${name} failed: ${message.error}`);
      if (message.kind !== 'ready') return;
      if (message.url !== undefined) member.peer = new Peer(message.url, { token: this.#options.run });
      this.#record(member, 'ready');
      ready.resolve();
    };
    const options = { ...this.#options, name, role, clockMs: this.#clockMs };
    const child = new Child<MemberMessage>(this.#program, options, onMessage, { imports: [preload] });
    const member: Member = { name, role, child, ready: ready.promise, isGone: false, isStalled: false };
    void child.exit.then(({ code, signal }) => {
      member.isGone = true;
      member.peer?.close();
      delete member.peer;
      if (signal !== 'SIGKILL' && code !== 0)
        this.#complain(
          `${name} exited unexpectedly, with code ${code} and signal ${signal}. ${child.complaints}`,
        );
      ready.resolve();
    });
    return member;
  }

  #replace(member: Member): Member {
    const index = this.#members[member.role].indexOf(member);
    const next = this.#start(member.role);
    this.#members[member.role][index] = next;
    return next;
  }

  #order({ child }: Member, order: Order): void {
    child.tell(order);
  }

  #record({ name, role }: Member, fate: Fate['fate']): void {
    this.#history.add({ what: 'fate', process: name, role, fate, at: moment() });
  }

  #complain(text: string): void {
    this.problems.push({ kind: 'broken', text });
  }
}
