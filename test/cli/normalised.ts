/** A screen with placeholders for ids, ports, times and spinner frames. */
export function normalised(screen: string): string {
  return `${screen
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, 'WHEN')
    .replace(/\b[a-z2-7]{32}\b/g, 'ID')
    .replace(/(tasks \w+ )[a-z2-7]{8}\b/g, '$1ID')
    .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '*')
    .replace(/^( +[*✔✖?!] )[a-z2-7]{8}\b/gm, '$1SUBTASK')
    .replace(/^( +)[a-z2-7]{8}( {2}\w)/gm, '$1SUBTASK$2')
    .replace(/^(?!question)[a-z2-7]{8} {2}/gm, 'CALL      ')
    .replace(/\b\d+:\d\d\b/g, '0:00')
    .replace(/\b\d+ s\b/g, 'N s')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')}\n`;
}
