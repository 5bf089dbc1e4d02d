#!/bin/sh
# Prints one object of headers: the time, its HMAC-SHA256 under SIGNING_SECRET, and the API key.
set -eu

sha256() {
  openssl dgst -sha256 -binary
}

hex() {
  od -An -v -tx1 | tr -d ' \n'
}

# Writes the key as 64 bytes, each combined with $1: the two halves of an HMAC (RFC 2104).
# `openssl dgst -hmac` is shorter, but shows the secret to everyone who lists processes.
padded_key() {
  rest=$key
  bytes=
  count=0
  while [ "$count" -lt 64 ]; do
    rest=${rest:-00}
    tail=${rest#??}
    byte=$((0x${rest%"$tail"} ^ $1))
    bytes="$bytes\\0$((byte / 64))$((byte / 8 % 8))$((byte % 8))"
    rest=$tail
    count=$((count + 1))
  done
  printf '%b' "$bytes"
}

key=$(printf '%s' "$SIGNING_SECRET" | hex)
if [ "${#key}" -gt 128 ]; then
  key=$(printf '%s' "$SIGNING_SECRET" | sha256 | hex)
fi

timestamp=$(date -u '+%Y-%m-%dT%H:%M:%S+00:00')
signature=$({ padded_key 0x5c; { padded_key 0x36; printf '%s' "$timestamp"; } | sha256; } | sha256 | hex)

printf '{"X-Timestamp": "%s", "X-Signature": "%s", "X-API-Key": "%s"}\n' \
  "$timestamp" "$signature" "$API_KEY"
