// The official TypeScript client on a command or an address: lists, calls, reads, and answers a question.
// Usage: node client.mjs MODULES MODE COMMAND ARGUMENT…; MODE is `legacy` or `auto`
//        node client.mjs MODULES MODE http|sse URL, with the capability in CAPABILITY
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, mode, command, ...args] = process.argv.slice(2);
const require = createRequire(path.join(modules, "none.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const client = new Client(
  { name: "test", version: "1.0.0" },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
);
let asked = 0;
client.setRequestHandler("elicitation/create", async () => {
  asked += 1;
  return { action: "accept", content: { name: "keyway" } };
});
const requestInit = { headers: { Authorization: `Bearer ${process.env.CAPABILITY}` } };
const transport = {
  http: () => new StreamableHTTPClientTransport(new URL(args[0]), { requestInit }),
  sse: () => new SSEClientTransport(new URL(args[0]), { requestInit }),
}[command];
const stdio = () => new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
await client.connect((transport ?? stdio)());
const text = (result) => result.content[0].text;
const { tools } = await client.listTools();
const echo = await client.callTool({ name: "echo", arguments: { message: "hello" } });
let progress = 0;
await client.callTool({ name: "count", arguments: { steps: 3 } }, { onprogress: () => (progress += 1) });
const greet = await client.callTool({ name: "greet", arguments: {} });
const { contents } = await client.readResource({ uri: "peer://greeting" });
console.log(
  JSON.stringify({
    version: client.getNegotiatedProtocolVersion?.(),
    tools: tools.map((tool) => tool.name).sort(),
    echo: text(echo),
    progress,
    asked,
    greet: text(greet),
    read: contents[0].text,
  }),
);
await client.close();
