"""The official Python client on a command: calls until a line comes in, then closes.

Usage: python client.py COMMAND ARGUMENT…
"""

import os
import sys

import anyio
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client

command, *arguments = sys.argv[1:]


async def main():
    server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    told = anyio.Event()

    async def listen():
        await anyio.to_thread.run_sync(sys.stdin.readline)
        told.set()

    async with anyio.create_task_group() as tasks:
        async with Client(stdio_client(server), mode="legacy") as client:
            echo = await client.call_tool("echo", {"message": "hello"})
            print(echo.content[0].text, flush=True)
            tasks.start_soon(listen)
            while not told.is_set():
                # A call that waits for the renewal is given up.
                with anyio.move_on_after(0.1):
                    await client.call_tool("echo", {"message": "hello"})
                await anyio.sleep(0.05)


anyio.run(main)
