export { type Random, seededRandom, seedOfThisRun } from '../../kit/random.ts';
