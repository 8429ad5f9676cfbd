/** Databases are copied from this one, in which Holdfast has been opened already. */
export const template = 'holdfast_template';
