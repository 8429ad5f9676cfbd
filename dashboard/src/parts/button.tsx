import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icons.tsx';

interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'icon' | 'class' | 'children'> {
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
  /** `primary` is for the one thing that a page is for; `danger` for what cannot be undone. */
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  /** While it is under way it can be pressed no second time. It keeps the focus, which what is disabled would lose. */
  readonly busy?: boolean;
}

export function Button({ children, icon, kind = 'plain', busy = false, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={`button button-${kind}`}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
