/** Names of SEP-1686. The prefix of its keys is `modelcontextprotocol.io`, not `io.modelcontextprotocol` as in later dialects. */
export const revision = 'sep-1686';

export const taskKey = 'modelcontextprotocol.io/task';
export const relatedTaskKey = 'modelcontextprotocol.io/related-task';
export const createdNotification = 'notifications/tasks/created';
