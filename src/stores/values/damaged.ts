/** What was read contradicts itself, though the database saw nothing wrong with it. */
export class Damaged extends Error {}
