import { Icon } from '../parts/icons.tsx';

/** Shown in place of a secret. */
export function Hidden() {
  return (
    <span
      class="hidden-value"
      title="The tool declares this value secret, or the tool is unknown to this process"
    >
      <Icon name="lock" />
      hidden
    </span>
  );
}

/** Shown in place of a whole value. */
export function HiddenWhole() {
  return (
    <p class="hidden-whole">
      <Hidden /> The values of this task are hidden: its tool is unknown to this process, so it cannot know
      which of them are secret.
    </p>
  );
}
