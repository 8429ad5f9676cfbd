/** Names of SEP-1686. Its keys begin with `modelcontextprotocol.io`; those of later dialects are reversed. */
export const revision = 'sep-1686';

export const taskKey = 'modelcontextprotocol.io/task';
export const relatedTaskKey = 'modelcontextprotocol.io/related-task';
export const createdNotification = 'notifications/tasks/created';
