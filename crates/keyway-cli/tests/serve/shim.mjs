// Stands between a client that can send no header and the gateway: adds the capability, and changes
// nothing else but the port by which the client names the machine.
// Usage: node shim.mjs GATEWAY_PORT PATH, with the capability in CAPABILITY; prints its own port.
import http from "node:http";

const [port, path] = process.argv.slice(2);
const authorization = `Bearer ${process.env.CAPABILITY}`;
const server = http.createServer((request, response) => {
  const own = server.address().port;
  const headers = { ...request.headers, authorization };
  for (const name of ["host", "origin"]) {
    if (headers[name]?.endsWith(`:${own}`)) {
      headers[name] = headers[name].replace(`:${own}`, `:${port}`);
    }
  }
  const forwarded = http.request(
    { host: "127.0.0.1", port, path, method: request.method, headers, agent },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    },
  );
  forwarded.on("error", () => response.destroy());
  response.on("close", () => forwarded.destroy());
  request.pipe(forwarded);
});
const agent = new http.Agent({ keepAlive: true });
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
