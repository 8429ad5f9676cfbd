/** Errors between the dashboard and its server. Each message is a sentence for people. */

/** The token is invalid or has expired. */
export class Unauthorized extends Error {
  override readonly name = 'Unauthorized';
  constructor(message = 'The server does not accept this token.') {
    super(message);
  }
}

export class NotFound extends Error {
  override readonly name = 'NotFound';
  constructor(message = 'There is no such task, or it was purged.') {
    super(message);
  }
}

/** The server rejected the request or failed; the message gives its reason. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** The server did not answer: the server or the network is down. */
export class Offline extends Error {
  override readonly name = 'Offline';
  constructor(message = 'The server does not answer.', options?: ErrorOptions) {
    super(message, options);
  }
}

/** A sentence that describes the thrown value. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error && error.message ? error.message : String(error);
}
