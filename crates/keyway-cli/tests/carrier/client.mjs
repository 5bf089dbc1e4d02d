// The official TypeScript client on a command: calls until a line comes in, then closes.
// Usage: node client.mjs MODULES COMMAND ARGUMENT…
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, command, ...args] = process.argv.slice(2);
const require = createRequire(path.join(modules, "none.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const client = new Client({ name: "test", version: "1.0.0" }, {});
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
let told = false;
process.stdin.once("data", () => (told = true));
for (let calls = 0; !told; calls += 1) {
  const echo = client.callTool({ name: "echo", arguments: { message: "hello" } });
  if (calls === 0) {
    console.log((await echo).content[0].text);
  } else {
    // A call that waits for the renewal ends with the connection.
    await Promise.race([echo.catch(() => {}), new Promise((next) => setTimeout(next, 100))]);
  }
}
await client.close();
process.exit(0);
