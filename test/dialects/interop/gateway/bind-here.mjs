// For servers of others that would listen on every interface: whatever they ask for, this machine alone can reach them.
import { Server } from 'node:net';

const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, { port: Number(port), host: '127.0.0.1' }, rest.at(-1));
};
