/** Runs in the browser as it is. Whatever comes from the server is put in as text, never as HTML. */
export const pageScript = `
const everyMs = 1000;
const find = (id) => document.getElementById(id);
const known = new Map();

function element(tag, name, parent) {
  const made = document.createElement(tag);
  made.className = name;
  parent.append(made);
  return made;
}

function card() {
  const item = document.createElement('li');
  const top = element('div', 'top', item);
  const parts = { item };
  for (const name of ['tool', 'status', 'id', 'age']) parts[name] = element('span', name, top);
  parts.far = element('div', 'far', item);
  parts.bar = element('progress', '', parts.far);
  parts.bar.setAttribute('aria-label', 'progress');
  parts.count = element('span', '', parts.far);
  parts.message = element('p', 'message', item);
  parts.questions = element('div', '', item);
  return parts;
}

function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function age(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return s + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min';
  return s < 86400 ? Math.floor(s / 3600) + ' h' : Math.floor(s / 86400) + ' d';
}

function fill(parts, task, now) {
  parts.item.className = task.status;
  write(parts.tool, task.tool);
  write(parts.status, task.status);
  write(parts.id, task.id + '…');
  write(parts.age, task.finishedAt ? age(now - task.finishedAt) + ' ago' : age(now - task.createdAt));
  const { progress, message = '', questions } = task;
  parts.far.hidden = !progress;
  if (progress) {
    if (progress.total) {
      parts.bar.max = progress.total;
      parts.bar.value = progress.done;
    } else parts.bar.removeAttribute('value');
    write(parts.count, progress.total ? progress.done + ' of ' + progress.total : String(progress.done));
  }
  parts.message.hidden = message === '' || questions.length > 0;
  write(parts.message, message);
  const asked = JSON.stringify(questions);
  if (parts.asked !== asked) {
    parts.asked = asked;
    parts.questions.replaceChildren();
    for (const question of questions) element('p', 'question', parts.questions).textContent = question;
  }
}

function place(name, tasks, now) {
  const section = find(name);
  section.hidden = tasks.length === 0;
  const list = section.querySelector('ul');
  const items = tasks.map((task) => {
    const key = task.id + task.createdAt;
    if (!known.has(key)) known.set(key, card());
    const parts = known.get(key);
    fill(parts, task, now);
    return parts.item;
  });
  if (items.length !== list.children.length || items.some((item, n) => list.children[n] !== item))
    list.replaceChildren(...items);
}

function show({ now, tasks }) {
  const here = new Set(tasks.map((task) => task.id + task.createdAt));
  for (const key of known.keys()) if (!here.has(key)) known.delete(key);
  const isLive = ({ status }) => status === 'running' || status === 'waiting';
  place('waiting', tasks.filter(({ status }) => status === 'waiting'), now);
  place('running', tasks.filter(({ status }) => status === 'running'), now);
  place('finished', tasks.filter((task) => !isLive(task)), now);
  find('empty').hidden = tasks.length > 0;
}

function connection(isHere) {
  find('connection').className = 'connection ' + (isHere ? 'here' : 'away');
  write(find('connection'), isHere ? 'live' : 'away');
  find('offline').hidden = isHere;
  find('tasks').className = isHere ? '' : 'old';
}

async function look() {
  try {
    const response = await fetch('/tasks.json', { cache: 'no-store', signal: AbortSignal.timeout(5000) });
    if (!response.ok) throw new Error(response.statusText);
    show(await response.json());
    connection(true);
  } catch {
    connection(false);
  }
  setTimeout(look, everyMs);
}
look();
`;
