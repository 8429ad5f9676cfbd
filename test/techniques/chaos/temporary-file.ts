export { temporaryFile } from '../../kit/lifetime.ts';
