// Runs in front of the gateway for the official suite, which cannot send a gateway token: adds the
// token, and replaces this port by the gateway's in `Host` and `Origin`. Everything else passes
// unchanged, foreign hosts and origins too. With a prefix, tools and prompts get the names that
// they have at the combined endpoint.
//
//   GATEWAY_TOKEN=... node shim.mjs GATEWAY_PORT [PREFIX]      prints its own port

import http from "node:http";

const gateway = Number(process.argv[2]);
const prefix = process.argv[3] ?? "";
const authorization = `Bearer ${process.env.GATEWAY_TOKEN}`;
const local = /^((?:https?:\/\/)?(?:localhost|127\.0\.0\.1|\[::1\])):(\d+)$/;

const shim = http.createServer(async (request, response) => {
  const own = String(shim.address().port);
  const renamed = (value) => value.replace(local, (all, host, port) => (port === own ? `${host}:${gateway}` : all));
  const headers = { ...request.headers, authorization };
  for (const name of ["host", "origin"]) {
    if (headers[name]) headers[name] = renamed(headers[name]);
  }
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  let body = Buffer.concat(pieces);
  if (prefix) {
    body = Buffer.from(prefixed(body.toString()));
    if (headers["content-length"]) headers["content-length"] = String(body.length);
    if (headers["mcp-name"] && ["tools/call", "prompts/get"].includes(headers["mcp-method"])) {
      headers["mcp-name"] = named(headers["mcp-name"]);
    }
  }
  const { method, url: path } = request;
  const onward = http.request({ host: "127.0.0.1", port: gateway, method, path, headers, agent: false });
  onward.on("response", (answer) => {
    const { "content-length": length, ...rest } = answer.headers;
    response.writeHead(answer.statusCode, prefix ? rest : answer.headers);
    response.flushHeaders();
    answer.on("data", (piece) => response.write(prefix ? piece.toString().replaceAll(prefix, "") : piece));
    answer.on("end", () => response.end());
    answer.on("error", () => response.destroy());
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  onward.end(body);
});

// The name of a tool or a prompt at the gateway; one of another server stays.
function named(name) {
  return name.includes("__") ? name : prefix + name;
}

function prefixed(text) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return text;
  }
  const { method, params } = message ?? {};
  if (["tools/call", "prompts/get"].includes(method) && typeof params?.name === "string") {
    params.name = named(params.name);
  }
  if (method === "completion/complete" && typeof params?.ref?.name === "string") {
    params.ref.name = named(params.ref.name);
  }
  return JSON.stringify(message);
}

shim.listen(0, "127.0.0.1", () => console.log(shim.address().port));
