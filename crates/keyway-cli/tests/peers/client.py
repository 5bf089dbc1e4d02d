"""The official Python client on a command or an address: lists, calls, reads, and answers a question.

Usage: python client.py MODE COMMAND ARGUMENT…; MODE is `legacy` or `auto`
       python client.py MODE http|sse URL, with the capability in CAPABILITY
"""

import json
import os
import sys

import anyio
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp_types import ElicitResult

mode, command, *arguments = sys.argv[1:]
asked = 0


async def answer(context, params):
    global asked
    asked += 1
    return ElicitResult(action="accept", content={"name": "keyway"})


def transport():
    headers = {"Authorization": f"Bearer {os.environ.get('CAPABILITY')}"}
    if command == "http":
        return streamable_http_client(arguments[0], http_client=create_mcp_http_client(headers=headers))
    if command == "sse":
        return sse_client(arguments[0], headers=headers)
    return stdio_client(StdioServerParameters(command=command, args=arguments, env=dict(os.environ)))


async def main():
    progress = []

    async def on_progress(done, total, message):
        progress.append(done)

    async with Client(transport(), mode=mode, elicitation_callback=answer) as client:
        tools = (await client.list_tools()).tools
        echo = await client.call_tool("echo", {"message": "hello"})
        await client.call_tool("count", {"steps": 3}, progress_callback=on_progress)
        greet = await client.call_tool("greet", {})
        read = await client.read_resource("peer://greeting")
        print(
            json.dumps(
                {
                    "version": client.protocol_version,
                    "tools": sorted(tool.name for tool in tools),
                    "echo": echo.content[0].text,
                    "progress": len(progress),
                    "asked": asked,
                    "greet": greet.content[0].text,
                    "read": read.contents[0].text,
                }
            )
        )


anyio.run(main)
