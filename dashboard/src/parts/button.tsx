import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icons.tsx';

interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'icon' | 'class' | 'children'> {
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
  /** `primary` is for the one thing that a page is for; `danger` for what cannot be undone. */
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  /** While it is under way it can be pressed no second time. */
  readonly busy?: boolean;
}

export function Button({ children, icon, kind = 'plain', busy = false, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={`button button-${kind}`}
      disabled={busy || disabled}
      aria-busy={busy || undefined}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
