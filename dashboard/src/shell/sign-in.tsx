import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { HttpDesk, Unauthorized } from '../api.ts';
import { sentenceOf } from '../errors.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icons.tsx';
import { arrivals } from '../router.ts';
import { signedOutBecause, signIn } from '../session.ts';

const wrong =
  'The server does not accept this token. It may belong to another server, or to one that was restarted since.';

/** What is seen without a token. One that is pasted is tried before it is kept. */
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
        await new HttpDesk(given).about();
        signIn(given);
        arrivals.value++;
      } catch (error) {
        problem.value = error instanceof Unauthorized ? wrong : sentenceOf(error);
      }
      isTrying.value = false;
    }
    // Whatever is pasted next takes the place of what was wrong; nobody sees what stands there.
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
          Paste the operator’s token. The server prints it when it starts, as a link that signs you in by
          itself. If it was given one in <code>HOLDFAST_OPERATOR_TOKEN</code>, that is the token.
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
        <p class="sign-in-note">It is kept for this tab only, and never becomes part of an address.</p>
      </form>
    </main>
  );
}
