import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icons.tsx';

interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'icon' | 'class' | 'children'> {
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
  /** `primary` marks the main action of a page, `danger` an action that cannot be undone. */
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  /** While true, the button ignores presses. It is not `disabled`, because a disabled button loses the focus. */
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
