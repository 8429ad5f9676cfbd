/** What can go wrong between the dashboard and its server; each message is a sentence for people. */

/** The server does not know the token, or not any more. */
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

/** The server understood and said no, or could not do it; it says why. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** No answer came: the server is down, or the network is. */
export class Offline extends Error {
  override readonly name = 'Offline';
  constructor(message = 'The server does not answer.', options?: ErrorOptions) {
    super(message, options);
  }
}

/** A sentence about whatever was thrown. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error && error.message ? error.message : String(error);
}
