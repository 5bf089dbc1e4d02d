// A host in Node: signs in to a server through Keyway, lists its tools and calls one.
// Start `keyway serve` first. Usage: node host.mjs PLUGIN:SERVER TOOL '{"argument": "value"}'
import { spawn } from "node:child_process";
import http from "node:http";

const [id, tool, args = "{}"] = process.argv.slice(2);
const socketPath =
  process.env.KEYWAY_SOCKET ?? `${process.env.XDG_RUNTIME_DIR}/keyway/gateway.sock`;

/** Sends one request; resolves when the head of the response is there. */
const request = (method, path, body, headers = {}) =>
  new Promise((resolve, reject) => {
    headers = { "content-type": "application/json", ...headers };
    http.request({ socketPath, method, path, headers }, resolve).on("error", reject).end(body);
  });

const text = async (response) => (await response.setEncoding("utf8").toArray()).join("");

/** One call of the control API; errors are RFC 9457 problems with Keyway's `code` and `hint`. */
async function control(method, path, body) {
  const response = await request(method, path, body && JSON.stringify(body));
  const answer = JSON.parse(await text(response));
  if (response.statusCode >= 400) throw new Error(`${answer.detail} (${answer.hint ?? "no hint"})`);
  return answer;
}

/** One message of MCP to the server, over the same socket: no token is needed, or ever seen. */
let session = {};
async function mcp(method, params) {
  const messageId = method.startsWith("notifications/") ? undefined : 1;
  const [plugin, name] = [id.slice(0, id.indexOf(":")), id.slice(id.indexOf(":") + 1)];
  const path = `/mcp/${encodeURIComponent(plugin)}/${encodeURIComponent(name)}`;
  const accept = "application/json, text/event-stream";
  const message = JSON.stringify({ jsonrpc: "2.0", id: messageId, method, params });
  const response = await request("POST", path, message, { accept, ...session });
  const opened = response.headers["mcp-session-id"];
  if (opened) session = { "mcp-session-id": opened, "mcp-protocol-version": "2025-11-25" };
  const body = await text(response);
  const answers = body.startsWith("{") ? [body] : body.match(/(?<=^data: ).+$/gm) ?? [];
  const { result, error } = answers.map(JSON.parse).find((it) => it.id === messageId) ?? {};
  if (error) throw new Error(error.message);
  return result;
}

// Events are read from before the sign-in begins, so that its end cannot be missed.
const events = (await request("GET", "/v1/events")).setEncoding("utf8");
const { consent, state } = await control("POST", `/v1/servers/${encodeURIComponent(id)}/sign-in`);
if (consent) {
  console.error(`sign in at ${consent.issuer}: ${consent.page}`);
  if (process.env.BROWSER) spawn(process.env.BROWSER, [consent.page], { stdio: "ignore" });
  for await (const piece of events) if (/^event: auth\.(completed|failed)$/m.test(piece)) break;
} else console.error(`${id} is ${state}`);
events.destroy();

const clientInfo = { name: "example-host", version: "1.0.0" };
await mcp("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
await mcp("notifications/initialized", {});
console.log("tools:", (await mcp("tools/list", {})).tools.map((it) => it.name).join(", "));
const called = await mcp("tools/call", { name: tool, arguments: JSON.parse(args) });
console.log("answer:", called.content.map((part) => part.text).join(""));
