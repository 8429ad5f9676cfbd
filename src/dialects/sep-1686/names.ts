/** Names of the original proposal of tasks. Its metadata turns the prefix around; the two must never be mixed. */
export const revision = 'sep-1686';

export const taskKey = 'modelcontextprotocol.io/task';
export const relatedTaskKey = 'modelcontextprotocol.io/related-task';
export const createdNotification = 'notifications/tasks/created';
