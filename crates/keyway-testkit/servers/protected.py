"""An MCP server on the official Python SDK that is its own authorization server, on loopback.

Usage: python protected.py PORT

Every client is signed in as `bob`, without a page. Refresh tokens rotate; ACCESS_TOKEN_SECONDS is
how long access tokens are good, 3600 unless told.
"""

import os
import secrets
import sys
import time

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken

port = int(sys.argv[1])
origin = f"http://127.0.0.1:{port}"
resource = f"{origin}/mcp"
lifetime = int(os.environ.get("ACCESS_TOKEN_SECONDS", "3600"))


class Provider:
    """Keeps everything in memory."""

    def __init__(self):
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or ["user"],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject="bob",
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.issue(authorization_code, authorization_code.scopes)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        del self.refresh[refresh_token.token]
        return self.issue(refresh_token, scopes)

    async def load_access_token(self, token):
        found = self.access.get(token)
        return found if found and found.expires_at > time.time() else None

    async def revoke_token(self, token):
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def issue(self, granted, scopes):
        common = {
            "client_id": granted.client_id,
            "scopes": scopes,
            "resource": granted.resource,
            "subject": granted.subject,
        }
        access = AccessToken(token=secrets.token_urlsafe(32), expires_at=int(time.time()) + lifetime, **common)
        refresh = RefreshToken(token=secrets.token_urlsafe(32), **common)
        self.access[access.token], self.refresh[refresh.token] = access, refresh
        return OAuthToken(
            access_token=access.token,
            token_type="Bearer",
            expires_in=lifetime,
            refresh_token=refresh.token,
            scope=" ".join(scopes),
        )


server = MCPServer(
    "protected-python",
    auth_server_provider=Provider(),
    auth=AuthSettings(
        issuer_url=origin,
        resource_server_url=resource,
        required_scopes=["user"],
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["user"], default_scopes=["user"]
        ),
        revocation_options=RevocationOptions(enabled=True),
    ),
)


@server.tool()
def whoami() -> str:
    token = get_access_token()
    return f"{token.subject} {' '.join(token.scopes)}"


server.run("streamable-http", port=port)
