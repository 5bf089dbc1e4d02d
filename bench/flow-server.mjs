// A small MCP server with one tool, `echo`, for clients with a fixed credential.
//
//   node bench/flow-server.mjs stdio   the credential is the variable DOCS_KEY
//   node bench/flow-server.mjs http    prints its address; the credential is a bearer token
import { createServer } from "node:http";
import { createInterface } from "node:readline";

/** The one credential that opens it; it stands for nothing elsewhere. */
export const CREDENTIAL = "flow-credential-7f3a91";

function answer({ id, method, params }) {
  const result = {
    initialize: () => ({
      protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "flow", version: "1" },
    }),
    ping: () => ({}),
    "tools/list": () => ({
      tools: [{ name: "echo", inputSchema: { type: "object", properties: { message: { type: "string" } } } }],
    }),
    "tools/call": () => ({ content: [{ type: "text", text: `Echo: ${params?.arguments?.message}` }] }),
  }[method]?.();
  return result
    ? { jsonrpc: "2.0", id, result }
    : { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
}

function overStdio() {
  if (process.env.DOCS_KEY !== CREDENTIAL) {
    console.error("DOCS_KEY is wrong or missing");
    process.exit(1);
  }
  createInterface(process.stdin).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.id !== undefined) process.stdout.write(JSON.stringify(answer(message)) + "\n");
  });
}

function overHttp() {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    if (request.url !== "/mcp") return response.writeHead(404).end();
    if (request.headers.authorization !== `Bearer ${CREDENTIAL}`) return response.writeHead(401).end();
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = JSON.parse(body);
    if (message.id === undefined) return response.writeHead(202).end();
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer(message)));
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
}

if (process.argv[2] === "stdio") overStdio();
if (process.argv[2] === "http") overHttp();
