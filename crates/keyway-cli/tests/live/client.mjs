// The official TypeScript client, first or second major version, which stays connected: at each line
// it lists the tools, calls one, and says in which session that was, and what came.
// Usage: node client.mjs MODULES 1|2 URL, with the capability in CAPABILITY
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const [modules, major, url] = process.argv.slice(2);
const require = createRequire(path.join(modules, "none.js"));
const load = (file) => import(pathToFileURL(file).href);
const first = (file) => load(path.join(modules, "@modelcontextprotocol/sdk/dist/esm", file));
const sdk =
  major === "1"
    ? { ...(await first("client/index.js")), ...(await first("client/streamableHttp.js")) }
    : await load(require.resolve("@modelcontextprotocol/client"));

const client = new sdk.Client({ name: "test", version: "1.0.0" }, { capabilities: {} });
const requestInit = { headers: { Authorization: `Bearer ${process.env.CAPABILITY}` } };
const transport = new sdk.StreamableHTTPClientTransport(new URL(url), { requestInit });
await client.connect(transport);
const orError = (promise) =>
  promise.catch((error) => ({ error: `${error.message} ${JSON.stringify(error.data ?? null)}` }));
for await (const _ of readline.createInterface({ input: process.stdin })) {
  const { tools } = await orError(client.listTools());
  const came = await orError(client.callTool({ name: "echo", arguments: { message: "hello" } }));
  const names = tools?.map((tool) => tool.name);
  console.log(JSON.stringify({ session: transport.sessionId, tools: names, came }));
}
await client.close();
