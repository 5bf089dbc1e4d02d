// The official TypeScript client of a person who signs in to a gateway: 401, RFC 9728, the issuer, a
// token, and then lists and calls.
//
// Usage: node person.mjs MODULES URL NAME
// Prints one line of JSON: the tools, what `echo` said, the header and the claims of the token, the token.
// The pages of `oidc-provider` are filled in here, without a browser.
import { modules } from "./modules.mjs";

const [directory, url, name] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await modules(directory)(
  "@modelcontextprotocol/client",
);
const redirectUrl = "http://127.0.0.1:1/callback";

// Follows redirects and sends the forms, until the client's own address comes back.
const signIn = async (page) => {
  const cookies = new Map();
  let [next, form] = [page, undefined];
  for (let step = 0; step < 20; step += 1) {
    const response = await fetch(next, {
      method: form ? "POST" : "GET",
      body: form,
      redirect: "manual",
      headers: { cookie: [...cookies].map((pair) => pair.join("=")).join("; ") },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [key, value] = cookie.split(";")[0].split("=");
      value ? cookies.set(key, value) : cookies.delete(key);
    }
    form = undefined;
    const location = response.headers.get("location");
    if (location) {
      next = new URL(location, next).href;
      if (next.startsWith(redirectUrl)) return new URL(next).searchParams;
      continue;
    }
    const html = await response.text();
    const [, action] = html.match(/action="([^"]+)"/) ?? [];
    const [, prompt] = html.match(/name="prompt" value="([^"]+)"/) ?? [];
    if (!action) throw new Error(`no form at ${next}: ${response.status} ${html.slice(0, 300)}`);
    next = new URL(action, next).href;
    form = new URLSearchParams({ prompt, login: name, password: "any" });
  }
  throw new Error("the issuer leads nowhere");
};

const kept = {};
const provider = {
  redirectUrl,
  clientMetadata: {
    client_name: "Person",
    application_type: "native",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => (kept.tokens = tokens),
  saveCodeVerifier: (verifier) => (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => (kept.discovery = state),
  discoveryState: () => kept.discovery,
  async redirectToAuthorization(page) {
    kept.answer = await signIn(page.href);
  },
};

const connect = async () => {
  const client = new Client({ name: "person", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  try {
    await client.connect(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth(kept.answer);
    return connect();
  }
  return client;
};

const part = (index) => JSON.parse(Buffer.from(kept.tokens.access_token.split(".")[index], "base64url"));
const report = {};
try {
  const client = await connect();
  report.tools = (await client.listTools()).tools.map((tool) => tool.name).sort();
  report.echo = (await client.callTool({ name: "echo", arguments: { message: "hello" } })).content[0].text;
} catch (error) {
  report.error = String(error.message ?? error);
}
if (kept.tokens) {
  report.header = part(0);
  report.claims = part(1);
  report.token = kept.tokens.access_token;
}
console.log(JSON.stringify(report));
process.exit(0);
