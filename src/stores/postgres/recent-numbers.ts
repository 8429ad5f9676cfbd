/** Which of the last few million commits were told, a bit for each: their numbers have few gaps. */
const most = 2 ** 22;

export class RecentNumbers {
  readonly #bits = new Uint32Array(most / 32);
  #highest = 0;

  add(seq: number): void {
    this.#highest ||= seq;
    if (seq - this.#highest >= most) this.#bits.fill(0);
    else for (let next = this.#highest + 1; next <= seq; next++) this.#set(next, false);
    this.#highest = Math.max(this.#highest, seq);
    if (seq > this.#highest - most) this.#set(seq, true);
  }

  /** One that lies further back than is remembered counts as told. */
  has(seq: number): boolean {
    if (seq > this.#highest) return false;
    const place = seq % most;
    return seq <= this.#highest - most || ((this.#bits[place >>> 5]! >>> (place & 31)) & 1) === 1;
  }

  #set(seq: number, isTold: boolean): void {
    const place = seq % most;
    const bit = 1 << (place & 31);
    if (isTold) this.#bits[place >>> 5]! |= bit;
    else this.#bits[place >>> 5]! &= ~bit;
  }
}
