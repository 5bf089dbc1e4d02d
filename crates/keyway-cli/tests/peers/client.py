"""The official Python client on a command: lists, calls, reads, and answers a question.

Usage: python client.py MODE COMMAND ARGUMENT…; MODE is `legacy` or `auto`
"""

import json
import os
import sys

import anyio
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp_types import ElicitResult

mode, command, *arguments = sys.argv[1:]
asked = 0


async def answer(context, params):
    global asked
    asked += 1
    return ElicitResult(action="accept", content={"name": "keyway"})


async def main():
    progress = []

    async def on_progress(done, total, message):
        progress.append(done)

    parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    async with Client(stdio_client(parameters), mode=mode, elicitation_callback=answer) as client:
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
