/** What programs that we start may see of the environment of this process. */

type Hides = (name: string, value: string) => boolean;

/**
 * For programs that run on behalf of whoever started this process: all of it but the settings of Holdfast, of which the
 * operator's token is one, and what the caller hides besides. Programs of a config get less: `ProgramTransport`.
 */
export function inheritedEnvironment(isHidden: Hides = () => false): Record<string, string> {
  const visible = Object.entries(process.env as Record<string, string>).filter(
    ([name, value]) => !name.toUpperCase().startsWith('HOLDFAST_') && !isHidden(name, value),
  );
  return Object.fromEntries(visible);
}
