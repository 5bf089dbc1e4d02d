"""A host in Python: signs in to a server through Keyway, lists its tools and calls one.
Start `keyway serve` first. Usage: python host.py PLUGIN:SERVER TOOL '{"argument": "value"}'"""
import http.client, json, os, socket, subprocess, sys
from urllib.parse import quote

ID, TOOL, ARGUMENTS = (sys.argv[1:] + ["{}"])[:3]
SOCKET = os.environ.get("KEYWAY_SOCKET") or os.environ["XDG_RUNTIME_DIR"] + "/keyway/gateway.sock"

class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


def request(method, path, body=None, headers=None):
    connection, headers = Connection("localhost"), {"Content-Type": "application/json", **(headers or {})}
    connection.request(method, path, body and json.dumps(body), headers)
    return connection.getresponse()


def control(method, path, body=None):
    """One call of the control API; errors are RFC 9457 problems with Keyway's `code` and `hint`."""
    response = request(method, path, body)
    answer = json.load(response)
    if response.status >= 400:
        sys.exit(f"{answer['detail']} ({answer['hint'] or 'no hint'})")
    return answer

session = {"Accept": "application/json, text/event-stream"}


def mcp(method, **params):
    """One message of MCP to the server, over the same socket: no token is needed, or ever seen."""
    path = "/mcp/" + "/".join(quote(part, safe="") for part in ID.split(":", 1))
    number = {} if method.startswith("notifications/") else {"id": 1}
    message = {"jsonrpc": "2.0", **number, "method": method, "params": params}
    response = request("POST", path, message, session)
    if response.headers["Mcp-Session-Id"]:
        session["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
        session["MCP-Protocol-Version"] = "2025-11-25"
    lines = (line.removeprefix(b"data: ").strip() for line in response)
    answers = (json.loads(line) for line in lines if line.startswith(b"{"))
    return next((it["result"] for it in answers if it.get("id") == 1), None)


# Events are read from before the sign-in begins, so that its end cannot be missed.
events = request("GET", "/v1/events")
server = control("POST", f"/v1/servers/{quote(ID, safe='')}/sign-in")
if consent := server["consent"]:
    print(f"sign in at {consent['issuer']}: {consent['page']}", file=sys.stderr)
    if "BROWSER" in os.environ:
        subprocess.Popen([os.environ["BROWSER"], consent["page"]])
    next(line for line in events if line.strip() in (b"event: auth.completed", b"event: auth.failed"))
client = {"name": "example-host", "version": "1.0.0"}
mcp("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
mcp("notifications/initialized")
print("tools:", ", ".join(tool["name"] for tool in mcp("tools/list")["tools"]))
called = mcp("tools/call", name=TOOL, arguments=json.loads(ARGUMENTS))
print("answer:", "".join(part["text"] for part in called["content"]))
