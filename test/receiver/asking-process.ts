import { serveAsking } from './asking.ts';

const [, , store, port] = process.argv;
const { url } = await serveAsking({ store: store!, port: Number(port) });
console.log(`ready ${url}`);
