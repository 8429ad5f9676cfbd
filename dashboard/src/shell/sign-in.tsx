import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { HttpOperatorApi, Unauthorized } from '../api.ts';
import { sentenceOf } from '../errors.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icons.tsx';
import { arrivals } from '../router.ts';
import { signedOutBecause, signIn } from '../session.ts';

const wrong =
  'The server does not accept this token. It may belong to another server, or the server was restarted.';

/** The page without a token. A pasted token is tried before it is stored. */
export function SignIn() {
  const field = useRef<HTMLInputElement>(null);
  const isTrying = useSignal(false);
  const problem = useSignal(signedOutBecause.value === 'refused' ? wrong : undefined);
  useEffect(() => {
    document.title = 'Sign in – Holdfast';
    field.current?.focus();
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    const given = field.current!.value.trim();
    problem.value = undefined;
    if (!given) problem.value = 'Paste the token first.';
    else {
      isTrying.value = true;
      try {
        await new HttpOperatorApi(given).about();
        signIn(given);
        arrivals.value++;
      } catch (error) {
        problem.value = error instanceof Unauthorized ? wrong : sentenceOf(error);
      }
      isTrying.value = false;
    }
    // The next paste replaces the wrong token, which is not readable in the field.
    field.current?.select();
  };
  return (
    <main class="sign-in">
      <form class="card sign-in-card" onSubmit={submit} noValidate>
        <div class="brand">
          <Icon name="anchor" />
          <span>Holdfast</span>
        </div>
        <h1>Sign in</h1>
        <p>
          Paste the operator token. The server prints it at start, as a link that signs you in. If{' '}
          <code>HOLDFAST_OPERATOR_TOKEN</code> is set on the server, use its value.
        </p>
        <label class="field">
          <span>Token</span>
          <input
            ref={field}
            class="input mono"
            type="password"
            name="token"
            autocomplete="off"
            spellcheck={false}
            aria-invalid={problem.value ? true : undefined}
            aria-describedby={problem.value ? 'sign-in-problem' : undefined}
          />
        </label>
        {problem.value && (
          <p id="sign-in-problem" class="problem" role="alert">
            <Icon name="warning" />
            {problem.value}
          </p>
        )}
        <Button type="submit" kind="primary" busy={isTrying.value}>
          Sign in
        </Button>
        <p class="sign-in-note">The token is stored for this tab only and never appears in an address.</p>
      </form>
    </main>
  );
}
