#!/bin/sh
# Prints one object of headers: a JWT (RFC 7519, RS256) that is good for five minutes.
set -eu

base64url() {
  openssl base64 -A | tr '+/' '-_' | tr -d '='
}

now=$(date +%s)
header=$(printf '{"alg":"RS256","typ":"JWT"}' | base64url)
claims=$(printf '{"iss":"%s","iat":%d,"exp":%d}' "$REPORTS_ACCOUNT" "$now" "$((now + 300))" | base64url)
signature=$(printf '%s' "$header.$claims" | openssl dgst -sha256 -sign "$REPORTS_KEY_FILE" -binary | base64url)

printf '{"Authorization": "Bearer %s"}\n' "$header.$claims.$signature"
