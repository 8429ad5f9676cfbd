import { Icon } from '../parts/icons.tsx';

/** In the place of something secret. */
export function Hidden() {
  return (
    <span class="hidden-value" title="Its tool declares this secret, or this process does not know the tool">
      <Icon name="lock" />
      hidden
    </span>
  );
}

/** In the place of a whole value. */
export function HiddenWhole() {
  return (
    <p class="hidden-whole">
      <Hidden /> The values of this task are hidden, because this process does not know its tool and cannot
      tell what is secret.
    </p>
  );
}
