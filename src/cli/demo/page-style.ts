export const pageStyle = `
:root {
  --ground: #f6f7f8; --card: #fff; --text: #16202a; --faint: #566472; --line: #dbe1e6;
  --running: #0f766e; --waiting: #92400e; --failed: #b91c1c; --track: #e4e9ed; --notice: #fef3c7;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #10161c; --card: #19222b; --text: #e6ebf0; --faint: #9aa8b5; --line: #2b3744;
    --running: #2dd4bf; --waiting: #fbbf24; --failed: #f87171; --track: #2b3744; --notice: #3a2f10;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body {
  margin: 0 auto; max-width: 60rem; padding: 1.25rem 1rem 3rem; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
code, .tool, .id { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .9em; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; margin-bottom: 1rem; }
h1 { font-size: 1.25rem; margin: 0; }
h2 { font-size: .95rem; margin: 1.5rem 0 .5rem; color: var(--faint); font-weight: 600; }
p { margin: 0; }
.where { color: var(--faint); overflow-wrap: anywhere; }
.connection { margin-left: auto; color: var(--faint); font-size: .9rem; white-space: nowrap; }
.connection::before {
  content: ""; display: inline-block; width: .6em; height: .6em; margin-right: .45em; border-radius: 50%;
  background: var(--faint);
}
.connection.here::before { background: var(--running); }
.connection.away::before { background: var(--failed); }
.offline { background: var(--notice); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; }
main.old ul { opacity: .7; }
ul { list-style: none; margin: 0; padding: 0; display: grid; gap: .5rem; }
li, .empty { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; }
.top { display: flex; flex-wrap: wrap; gap: .1rem .75rem; align-items: baseline; }
.tool { font-weight: 600; overflow-wrap: anywhere; }
.status { font-size: .85rem; font-weight: 600; color: var(--faint); }
.running .status { color: var(--running); }
.waiting .status { color: var(--waiting); }
.failed .status { color: var(--failed); }
.id, .age { color: var(--faint); font-size: .85rem; }
.age { margin-left: auto; }
.far { display: flex; gap: .75rem; align-items: center; margin-top: .4rem; }
.far span { font-size: .85rem; color: var(--faint); font-variant-numeric: tabular-nums; white-space: nowrap; }
progress {
  appearance: none; flex: 1; min-width: 0; height: .5rem; border: 0; border-radius: .25rem; overflow: hidden;
  background: var(--track); color: var(--running);
}
progress::-webkit-progress-bar { background: var(--track); }
progress::-webkit-progress-value { background: var(--running); transition: width .3s; }
progress::-moz-progress-bar { background: var(--running); }
.waiting progress::-webkit-progress-value { background: var(--waiting); }
.waiting progress::-moz-progress-bar { background: var(--waiting); }
.failed progress::-webkit-progress-value { background: var(--failed); }
.failed progress::-moz-progress-bar { background: var(--failed); }
.message { margin-top: .3rem; color: var(--faint); font-size: .9rem; overflow-wrap: anywhere; }
.question {
  margin-top: .5rem; padding: .5rem .75rem; border-left: .2rem solid var(--waiting); background: var(--notice);
  border-radius: 0 .25rem .25rem 0; overflow-wrap: anywhere;
}
.empty { margin-top: 1.5rem; padding: 1.25rem; }
.empty h2 { margin: 0 0 .5rem; font-size: 1.1rem; color: var(--text); }
.empty pre {
  margin: .75rem 0; padding: .75rem 1rem; background: var(--ground); border: 1px solid var(--line);
  border-radius: .4rem; white-space: pre-wrap; overflow-wrap: anywhere;
}
@media (max-width: 30rem) {
  .top { display: grid; grid-template: "tool tool age" "status id id" / auto 1fr auto; }
  .tool { grid-area: tool; } .status { grid-area: status; } .id { grid-area: id; } .age { grid-area: age; }
}
@media (prefers-reduced-motion: reduce) { progress::-webkit-progress-value { transition: none; } }
`;
