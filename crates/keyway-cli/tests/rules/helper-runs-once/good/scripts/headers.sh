#!/bin/sh
# Prints the headers of one connection.
set -eu
timestamp=$(date -u +%Y-%m-%dT%H:%M:%S+00:00)
signature=$(printf '%s' "$timestamp" | openssl dgst -sha256 -hmac "$SIGNING_SECRET" | sed 's/^.*= //')
printf '{"X-Timestamp": "%s", "X-Signature": "%s"}\n' "$timestamp" "$signature"
