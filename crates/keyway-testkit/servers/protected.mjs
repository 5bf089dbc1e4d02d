// A real authorization server and an MCP server that it protects, both on loopback.
//
// Usage: node protected.mjs MODULES
// Prints one line of JSON: `server` (the MCP server), `issuer`, `journal` (what was asked so far),
// `forget` (opened, it makes all access tokens so far unknown).
//
// ACCESS_TOKEN_SECONDS: how long access tokens are good, 3600 unless told
//
// The authorization server is `oidc-provider`: dynamic registration, PKCE with S256 alone, resource
// indicators, refresh tokens that rotate and whose reuse ends the grant, revocation, device flow. Any
// name and password sign in. The MCP server stands on the official TypeScript SDK; its tool `delete`
// needs the scope `write`, which is not asked for at first.
import { createServer } from "node:http";

import { modules } from "./modules.mjs";

// Standard output is for the one line.
console.info = console.warn = console.error;

const load = modules(process.argv[2]);
const { default: Provider, errors } = await load("oidc-provider");
const sdk = await load("@modelcontextprotocol/server");
const { toNodeHandler } = await load("@modelcontextprotocol/node");

const seconds = Number(process.env.ACCESS_TOKEN_SECONDS ?? 3600);
const journal = [];
let forgotten = 0;
const issued = new Map();

const listen = async (handler) => {
  const server = createServer(handler);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${server.address().port}`;
};

let serveMcp;
const origin = await listen((request, response) => serveMcp(request, response));
const resource = `${origin}/mcp`;

// ---- the authorization server

let serveAuthorization;
const issuer = await listen((request, response) => serveAuthorization(request, response));
const provider = new Provider(issuer, {
  scopes: ["openid", "offline_access", "read", "write"],
  cookies: { keys: ["only for tests"] },
  ttl: { AccessToken: seconds, RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 600 },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async (context, client) => client.grantTypeAllowed("refresh_token"),
  findAccount: async (context, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
  features: {
    deviceFlow: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: async (context, indicator) => {
        if (indicator !== resource) throw new errors.InvalidTarget();
        return { scope: "read write", audience: resource, accessTokenTTL: seconds, accessTokenFormat: "opaque" };
      },
    },
  },
});
provider.use(async (context, next) => {
  await next();
  const entry = { method: context.method, path: context.path, status: context.status };
  const grant = context.oidc?.params?.grant_type;
  if (grant) entry.grant = grant;
  if (context.oidc?.params?.resource) entry.resource = context.oidc.params.resource;
  if (context.path === "/token" && context.status !== 200) entry.error = context.body?.error;
  journal.push(entry);
});
provider.on("access_token.saved", (token) => issued.set(token.jti, Date.now()));
serveAuthorization = provider.callback();

// ---- the MCP server

const schema = (properties) =>
  sdk.fromJsonSchema({ type: "object", properties, required: Object.keys(properties) });
const say = (text) => ({ content: [{ type: "text", text }] });

const handler = sdk.createMcpHandler(
  () => {
    const server = new sdk.McpServer({ name: "protected", version: "1.0.0" });
    server.registerTool("echo", { inputSchema: schema({ message: { type: "string" } }) }, ({ message }) =>
      say(`Echo: ${message}`),
    );
    server.registerTool("whoami", { inputSchema: schema({}) }, (given, context) => {
      const { extra, scopes } = context.http.authInfo;
      return say(`${extra.account} ${scopes.toSorted().join(" ")}`);
    });
    server.registerTool(
      "delete",
      { inputSchema: schema({}), scopeChallenge: sdk.requireScopes("read", "write") },
      () => say("deleted"),
    );
    server.registerResource("greeting", "peer://greeting", {}, () => ({
      contents: [{ uri: "peer://greeting", text: "hello from behind" }],
    }));
    return server;
  },
);

const verifier = {
  async verifyAccessToken(value) {
    const token = await provider.AccessToken.find(value);
    if (!token || token.aud !== resource || (issued.get(token.jti) ?? 0) <= forgotten) {
      throw new sdk.OAuthError(sdk.OAuthErrorCode.InvalidToken, "unknown, expired or for another audience");
    }
    return {
      token: value,
      clientId: token.clientId,
      scopes: [...token.scopes],
      expiresAt: token.exp,
      resource: new URL(token.aud),
      extra: { account: token.accountId },
    };
  },
};
const gate = sdk.requireBearerAuth({
  verifier,
  expectedResource: new URL(resource),
  resourceMetadataUrl: sdk.getOAuthProtectedResourceMetadataUrl(new URL(resource)),
});
const metadata = {
  resource,
  authorization_servers: [issuer],
  scopes_supported: ["read"],
  bearer_methods_supported: ["header"],
};

const nodeHandler = toNodeHandler({
  async fetch(request) {
    const { pathname } = new URL(request.url);
    const entry = { method: request.method, path: pathname };
    journal.push(entry);
    let response;
    if (pathname === "/.well-known/oauth-protected-resource/mcp") {
      response = Response.json(metadata);
    } else if (pathname !== "/mcp") {
      response = new Response(null, { status: 404 });
    } else {
      const auth = await gate(request);
      response = auth instanceof Response ? auth : await handler.fetch(request, { authInfo: auth });
    }
    entry.status = response.status;
    return response;
  },
});
serveMcp = (request, response) => {
  switch (request.url) {
    case "/journal":
      return response.end(JSON.stringify(journal));
    case "/forget":
      // As a restart would: no access token so far is known any more, whatever its clock says.
      forgotten = Date.now();
      return response.end();
    default:
      return nodeHandler(request, response);
  }
};

console.log(JSON.stringify({ server: resource, issuer, journal: `${origin}/journal`, forget: `${origin}/forget` }));
