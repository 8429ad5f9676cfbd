/** The token of the dashboard: one that was given, or a new one. */
import { runtime } from '../model/runtime.ts';

export interface OperatorToken {
  readonly token: string;
  /** What to put behind the address. A token that was given is known to whoever gave it, and need not be in any log. */
  readonly fragment: string;
}

export function operatorToken(given = process.env.HOLDFAST_OPERATOR_TOKEN): OperatorToken {
  if (given) return { token: given, fragment: '' };
  const token = runtime.randomBytes(24).toString('base64url');
  return { token, fragment: `#token=${token}` };
}
