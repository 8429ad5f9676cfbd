/** Scripts that tests run in a page. Strings, because functions would mix the browser's types with Node's. */

/** Opens everything that can be opened, so that all content is in the page. */
export const openEverything = `(async () => {
  const closed = () => [
    ...document.querySelectorAll('.lane-name[aria-expanded="false"], .tree-toggle[aria-expanded="false"]'),
    ...document.querySelectorAll('.drawer:not([open]) > summary'),
    ...[...document.querySelectorAll('button.more')].filter((button) => button.textContent.startsWith('Show all')),
  ];
  for (let all = closed(); all.length > 0; all = closed()) {
    for (const one of all) one.click();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
})()`;

/** Elements that only an attack could have added. */
export const strangers = `[...document.querySelectorAll('#app *')]
  .filter((element) => {
    const isForbidden = element.matches(
      'script, iframe, object, embed, style, link, template, noscript, math, base, meta, img:not([src^="data:image/"])',
    );
    const hasHandler = element.getAttributeNames().some((name) => name.startsWith('on'));
    return isForbidden || hasHandler || /^\\s*(javascript|data|vbscript):/i.test(element.getAttribute('href') ?? '');
  })
  .map((element) => element.outerHTML.slice(0, 200))`;

/** Tries everything that the policy must forbid; returns the directives that were violated. */
export const tryEverything = `(async () => {
  const blocked = new Set();
  addEventListener('securitypolicyviolation', ({ effectiveDirective }) => blocked.add(effectiveDirective));
  const add = (tag, attributes, text = '') => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    document.body.append(element);
    return element;
  };
  add('script', {}, 'window.harmed = 1');
  add('script', { src: 'https://elsewhere.example/a.js' });
  add('button', { onclick: 'window.harmed = 1' }).click();
  add('img', { src: 'https://elsewhere.example/a.png' });
  add('iframe', { src: 'https://elsewhere.example/' });
  add('link', { rel: 'stylesheet', href: 'https://elsewhere.example/a.css' });
  add('style', {}, 'body { display: none }');
  const isRefused = await fetch('https://elsewhere.example/').then(() => false, () => true);
  const expected = ['connect-src', 'frame-src', 'img-src', 'script-src-attr', 'script-src-elem', 'style-src-elem'];
  for (let turn = 0; turn < 500 && !expected.every((name) => blocked.has(name)); turn++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  return { blocked: [...blocked].sort(), isRefused };
})()`;

/** By how many pixels the page is wider than its window. */
export const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

export const focused = 'document.activeElement?.getAttribute("aria-label")';

/** Opens a task as the browser's back button does, without loading the page again. */
export function goTo(id: string): string {
  return `history.pushState(null, '', '?task=${encodeURIComponent(id)}'); dispatchEvent(new PopStateEvent('popstate'))`;
}
