//! Programs that tests have Keyway start, or that start Keyway.

/// A server in `sh` whose only tool is named after what it can see of the path that it is given.
///
/// What is put in front of it runs first, with the same path as `$1`.
pub const LOOKER: &str = r##"if [ -e "$1" ] || ls "$1" >/dev/null 2>&1; then r=it; else r=nothing; fi
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
  *'"method":"tools/list"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"sees-%s","inputSchema":{"type":"object"}}]}}\n' "$id" "$r" ;;
  *'"id":'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"##;

/// For `python3 -c`: forbids `unshare` and Landlock to itself and whatever it starts, then starts
/// its arguments, as on a system that offers neither.
pub const WITHOUT_ISOLATION: &str =
    include_str!("../../keyway-transport/tests/children/without_isolation.py");
