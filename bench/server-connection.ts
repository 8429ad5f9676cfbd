/**
 * The client of the server suite: persistent connections, prepared request bytes, and answers that are read only to
 * find their end. It costs a fraction of the server's work, and the same for all servers.
 */
import { connect, type Socket } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** One request at a time. */
export class Connection {
  readonly #socket: Socket;
  #received: Buffer | undefined;
  #answered: ((answer: string) => void) | undefined;
  #failed: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#failed?.(error));
    socket.on('close', () => this.#failed?.(new Error('The server closed the connection.')));
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Connection(socket);
  }

  /** Sends the bytes of a whole request, and returns the whole answer with its head. */
  ask(request: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
      this.#socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.#failed = undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    const received = this.#received ? Buffer.concat([this.#received, chunk]) : chunk;
    if (!isWhole(received)) {
      this.#received = received;
      return;
    }
    this.#received = undefined;
    const answer = received.toString('latin1');
    if (answer.startsWith('HTTP/1.1 200 ')) this.#answered!(answer);
    else this.#failed!(new Error(`The server refused a request of the benchmark: ${answer}`));
  }
}

function isWhole(received: Buffer): boolean {
  const end = received.indexOf(headEnd);
  if (end < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(received.toString('latin1', 0, end))?.[1];
  if (length === undefined) return received.subarray(-lastChunk.length).equals(lastChunk);
  return received.length === end + headEnd.length + Number(length);
}

/** The bytes of a POST to a server on this machine. */
export function post(headers: string, body: string): string {
  return `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
}
