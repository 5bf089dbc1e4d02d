"""A server on the official Python SDK, for both protocol eras.

Usage: python server.py stdio | http PORT | sse PORT
"""

import sys
import warnings

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import BaseModel

warnings.simplefilter("ignore", MCPDeprecationWarning)
server = MCPServer("python-peer")


class Name(BaseModel):
    name: str


@server.tool()
def echo(message: str) -> str:
    return f"Echo: {message}"


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    for step in range(steps):
        await ctx.report_progress(step + 1, steps)
        # The TypeScript client drops progress that comes in one piece with the result.
        await anyio.sleep(0.05)
    return f"counted to {steps}"


@server.tool()
async def greet(ctx: Context) -> str | InputRequiredResult:
    """Asks the client for a name: by a request of its own, or inside the result."""
    if (ctx.protocol_version or "") < "2026":
        asked = await ctx.elicit("Who is there?", Name)
        return f"hello {asked.data.name}"
    if ctx.input_responses is None:
        params = ElicitRequestFormParams(message="Who is there?", requested_schema=Name.model_json_schema())
        return InputRequiredResult(input_requests={"name": ElicitRequest(params=params)}, request_state="asked")
    answer = ctx.input_responses["name"]
    assert isinstance(answer, ElicitResult) and ctx.request_state == "asked"
    return f"hello {answer.content['name']}"


@server.resource("peer://greeting")
def greeting() -> str:
    return "hello from python"


match sys.argv[1:]:
    case ["stdio"]:
        server.run("stdio")
    case ["http", port]:
        server.run("streamable-http", port=int(port))
    case ["sse", port]:
        server.run("sse", port=int(port))
    case _:
        sys.exit(2)
