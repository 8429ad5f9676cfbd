/** A process that opens a store and has nothing else to do: `short-life.ts <place> <close|rekey|leave>`. */
import { encryption } from '../encryption/keys.ts';
import { open } from './open.ts';

const [place, how] = process.argv.slice(2);
const database = await open(place!, { encryption: encryption('first', 'second') });
await database.queries.list({ limit: 1 });
if (how === 'rekey') await database.rekey();
if (how !== 'leave') await database.close();
console.log('done');
