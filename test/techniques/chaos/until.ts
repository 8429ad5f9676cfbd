export { until } from '../../kit/until.ts';
