/** Where requests of the web came from, which they themselves do not say. */
const addresses = new WeakMap<object, string>();

export function cameFrom(request: Request, address: string | undefined): Request {
  if (address !== undefined) addresses.set(request, address);
  return request;
}

export function addressOf(request: object | undefined): string | undefined {
  return request && addresses.get(request);
}
