// The official TypeScript client on the gateway: lists, calls, reads, and answers a question of the server.
// Usage: node client.mjs MODULES URL PREFIX, with the capability in CAPABILITY
import { pathToFileURL } from "node:url";
import path from "node:path";

const [modules, url, prefix] = process.argv.slice(2);
const sdk = (file) =>
  import(pathToFileURL(path.join(modules, "@modelcontextprotocol/sdk/dist/esm", file)).href);
const { Client } = await sdk("client/index.js");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp.js");
const { CreateMessageRequestSchema } = await sdk("types.js");

const client = new Client(
  { name: "test", version: "1.0.0" },
  { capabilities: { sampling: {}, elicitation: {}, roots: {} } },
);
let asked = 0;
client.setRequestHandler(CreateMessageRequestSchema, async () => {
  asked += 1;
  return { role: "assistant", model: "none", content: { type: "text", text: "sampled" } };
});
const headers = { Authorization: `Bearer ${process.env.CAPABILITY}` };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
await client.connect(transport);
const { tools } = await client.listTools();
const named = (name) => tools.find((tool) => tool.name === prefix + name).name;
const echo = await client.callTool({ name: named("echo"), arguments: { message: "hello" } });
let progress = 0;
await client.callTool(
  { name: named("trigger-long-running-operation"), arguments: { duration: 0.4, steps: 2 } },
  undefined,
  { onprogress: () => (progress += 1) },
);
const sampling = named("trigger-sampling-request");
await client.callTool({ name: sampling, arguments: { prompt: "hi", maxTokens: 5 } });
const { resources } = await client.listResources();
const { contents } = await client.readResource({ uri: resources[0].uri });
console.log(
  JSON.stringify({ echo: echo.content[0].text, progress, asked, read: contents.length }),
);
await transport.terminateSession();
await client.close();
