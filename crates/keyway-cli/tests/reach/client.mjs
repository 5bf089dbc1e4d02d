// The official TypeScript client on `keyway run`: lists, calls, reads, and answers a question of the server.
// Usage: node client.mjs MODULES KEYWAY ARGUMENT…
import { pathToFileURL } from "node:url";
import path from "node:path";

const [modules, keyway, ...args] = process.argv.slice(2);
const sdk = (file) =>
  import(pathToFileURL(path.join(modules, "@modelcontextprotocol/sdk/dist/esm", file)).href);
const { Client } = await sdk("client/index.js");
const { StdioClientTransport } = await sdk("client/stdio.js");
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
await client.connect(
  new StdioClientTransport({ command: keyway, args, env: process.env, stderr: "inherit" }),
);
const { tools } = await client.listTools();
const names = tools.map((tool) => tool.name);
const echo = await client.callTool({ name: "echo", arguments: { message: "hello" } });
let progress = 0;
const slow = tools.find((tool) => tool.name === "trigger-long-running-operation");
await client.callTool({ name: slow.name, arguments: { duration: 0.4, steps: 2 } }, undefined, {
  onprogress: () => (progress += 1),
});
const sampling = names.find((name) => name === "trigger-sampling-request");
if (sampling) {
  await client.callTool({ name: sampling, arguments: { prompt: "hi", maxTokens: 5 } });
}
const { resources } = await client.listResources();
const { contents } = await client.readResource({ uri: resources[0].uri });
console.log(
  JSON.stringify({ tools: names.length, echo: echo.content[0].text, progress, asked, read: contents.length }),
);
await client.close();
