#!/bin/sh
# Watches Codex read what `keyway install codex` writes. Not a test of the suite: the package is
# larger than all others together, and `codex mcp list` reads its file but does not connect.
#
#   crates/keyway-cli/tests/peers/codex.sh target/debug/keyway [VERSION]
set -eu
keyway=$(realpath "$1")
version=${2:-0.169.0}
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
npm install --prefix "$own/npm" --no-audit --no-fund --ignore-scripts "@openai/codex@$version" >/dev/null
mkdir -p "$own/home" "$own/plugin"
echo '{"docs": {"type": "http", "url": "https://docs.example/mcp"}}' >"$own/plugin/.mcp.json"
export HOME="$own/home" CODEX_HOME="$own/home/.codex" KEYWAY_HOME="$own/keyway"
export XDG_CONFIG_HOME="$own/home/.config" XDG_DATA_HOME="$own/home/.local/share"
mkdir -p "$CODEX_HOME"
echo 'model = "m" # mine' >"$CODEX_HOME/config.toml"
cp "$CODEX_HOME/config.toml" "$own/before"
cd "$own/plugin"
"$keyway" install codex --server docs --yes
"$own/npm/node_modules/.bin/codex" mcp list | tee "$own/listed"
grep -q "^docs .*run --server docs --config .* enabled" "$own/listed"
"$keyway" uninstall codex --yes
cmp "$CODEX_HOME/config.toml" "$own/before"
echo "Codex $version lists the entry, and the file is as before"
