/**
 * Puts into the audit log what is no commit: results that were read, callers that were refused. Nobody waits for it.
 * What repeats itself within a minute is counted, and the count written at its end; an owner that is refused for ever
 * new reasons, or asks for ever new ids, gets a few entries and then one that counts the rest. So no flood can fill
 * the disk, or the memory.
 */
import type { Clock } from '../model/clock.ts';
import { shortened } from '../model/lengths.ts';
import type { AuditEntry } from './audit.ts';

/** How long entries are gathered before they are written. */
const gatherMs = 200;
const windowMs = 60_000;
/** What is remembered of a minute, to recognise what repeats itself. */
const mostRemembered = 20_000;
/** Entries that wait to be written. More than that, and the store does not keep up. */
const mostWaiting = 20_000;
/** Refusals of one owner in a minute that are told one by one. */
const mostRefusals = 20;

export type Noted = Omit<AuditEntry, 'at' | 'times'>;

interface Counted {
  readonly noted: Noted;
  /** Not in the log yet. */
  times: number;
}

export class AuditRecorder {
  readonly #append: (entries: readonly AuditEntry[]) => Promise<void>;
  readonly #clock: Clock;
  readonly #counted = new Map<string, Counted>();
  /** By action and owner: how many refusals were told one by one in this minute. */
  readonly #refusals = new Map<string, number>();
  #waiting: AuditEntry[] = [];
  #omitted = 0;
  #writing: Promise<void> = Promise.resolve();
  #cancelGathering: (() => void) | undefined;
  #cancelWindow: (() => void) | undefined;

  constructor(append: (entries: readonly AuditEntry[]) => Promise<void>, clock: Clock) {
    this.#append = append;
    this.#clock = clock;
  }

  /** True if the same was noted within this minute; it is counted then, and that is all. */
  countAgain(key: string): boolean {
    const counted = this.#counted.get(key);
    if (!counted) return false;
    counted.times++;
    return true;
  }

  /** What has the same key is the same. */
  note(key: string, noted: Noted): void {
    if (this.countAgain(key)) return;
    this.#openWindow();
    this.#remember(key, noted);
    this.#wait({ ...noted, at: this.#clock.now() });
  }

  /** Somebody was denied a task, or asked for too much. */
  refuse(refused: Noted & { readonly action: 'denied' | 'limited' }): void {
    const { action, owner, taskId, reason } = refused;
    const key = JSON.stringify([action, owner, taskId, reason]);
    if (this.countAgain(key)) return;
    const told = this.#refusals.get(`${action} ${owner}`) ?? 0;
    if (told === 0 && this.#refusals.size >= mostRemembered) {
      this.#omit(1);
    } else if (told < mostRefusals) {
      this.#refusals.set(`${action} ${owner}`, told + 1);
      this.note(key, refused);
    } else {
      const why = `There were more than ${mostRefusals} in a minute; of the others only the number is kept.`;
      const rest: Noted = { action, owner, taskId: null, by: 'caller', reason: why };
      this.note(JSON.stringify([action, owner, null]), rest);
    }
  }

  /** Writes what there is, counts of a minute that is not over included. */
  async flush(): Promise<void> {
    this.#closeWindow();
    this.#write();
    await this.#writing;
  }

  #remember(key: string, noted: Noted): void {
    if (this.#counted.size >= mostRemembered) {
      const [oldest, counted] = this.#counted.entries().next().value!;
      this.#counted.delete(oldest);
      this.#waitForCount(counted);
    }
    this.#counted.set(key, { noted, times: 0 });
  }

  #openWindow(): void {
    this.#cancelWindow ??= this.#clock.schedule(this.#clock.now() + windowMs, () => this.#closeWindow());
  }

  #closeWindow(): void {
    this.#cancelWindow?.();
    this.#cancelWindow = undefined;
    for (const counted of this.#counted.values()) this.#waitForCount(counted);
    this.#counted.clear();
    this.#refusals.clear();
  }

  #waitForCount({ noted, times }: Counted): void {
    if (times === 0) return;
    this.#wait({ ...noted, at: this.#clock.now(), ...(times > 1 && { times }) });
  }

  #wait(entry: AuditEntry): void {
    const owner = entry.owner === null ? null : shortened(entry.owner);
    if (this.#waiting.length < mostWaiting) this.#waiting.push({ ...entry, owner });
    else this.#omitted += entry.times ?? 1;
    this.#gather();
  }

  #omit(times: number): void {
    this.#omitted += times;
    this.#openWindow();
    this.#gather();
  }

  #gather(): void {
    this.#cancelGathering ??= this.#clock.schedule(this.#clock.now() + gatherMs, () => this.#write());
  }

  #write(): void {
    this.#cancelGathering?.();
    this.#cancelGathering = undefined;
    this.#writing = this.#writing.then(() => this.#writeWaiting());
  }

  async #writeWaiting(): Promise<void> {
    const entries = this.#waiting;
    const omitted = this.#omitted;
    if (entries.length + omitted === 0) return;
    this.#waiting = [];
    this.#omitted = 0;
    const times = omitted > 1 ? { times: omitted } : {};
    const gap: AuditEntry = {
      at: this.#clock.now(),
      action: 'omitted',
      owner: null,
      taskId: null,
      by: 'engine',
      reason: 'More happened at a time than could be written.',
      ...times,
    };
    try {
      await this.#append(omitted > 0 ? [...entries, gap] : entries);
    } catch {
      // A store that cannot be written now will say later how much is missing.
      this.#omitted += entries.reduce((sum, entry) => sum + (entry.times ?? 1), omitted);
    }
  }
}
