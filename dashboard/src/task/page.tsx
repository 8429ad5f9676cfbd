/** The page of one task. */
export function TaskPage({ id }: { id: string }) {
  return (
    <article class="card">
      <h1 tabIndex={-1}>Task</h1>
      <p class="mono">{id}</p>
    </article>
  );
}
