/** Names of the tasks of revision 2025-11-25. */
export const revision = '2025-11-25';

export const relatedTaskKey = 'io.modelcontextprotocol/related-task';
export const immediateResponseKey = 'io.modelcontextprotocol/model-immediate-response';
