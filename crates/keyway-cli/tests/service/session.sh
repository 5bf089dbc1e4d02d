# A login of one person, with a service manager of its own: `systemd --user` in a mount namespace,
# which believes that the machine was started by systemd.
set -eu
mount -t tmpfs none /run/systemd
mkdir /run/systemd/system
/usr/lib/systemd/systemd --user >"$HOME/manager.log" 2>&1 &
manager=$!
trap 'kill $manager; wait $manager 2>/dev/null || true' EXIT
for _ in $(seq 100); do
    [ -S "$XDG_RUNTIME_DIR/systemd/private" ] && systemctl --user is-active --quiet basic.target && break
    sleep 0.1
done

part() { printf '\n== %s\n' "$1"; }
try() { "$@" 2>&1 || echo "exit $?"; }

part before
try "$KEYWAY" service status
part install
try "$KEYWAY" service install --yes --listen "127.0.0.1:$PORT" "$PLUGIN"
part again
try "$KEYWAY" service install --yes --listen "127.0.0.1:$PORT" "$PLUGIN"
part status
try "$KEYWAY" service status --format json
part process
systemctl --user show keyway.service --property=MainPID,ActiveState,Type
part mode
stat -c '%a' "$XDG_CONFIG_HOME/systemd/user/keyway.service" "$XDG_RUNTIME_DIR/keyway/gateway.sock"
part killed
systemctl --user kill --signal=KILL keyway.service
try "$KEYWAY" service status
part port
token=$("$KEYWAY" token new --name test 2>/dev/null)
python3 - "$token" <<'EOF'
import http.client, os, sys
for headers in {}, {"Authorization": "Bearer " + sys.argv[1]}:
    guest = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT"]), timeout=10)
    guest.request("GET", "/metrics", headers=headers)
    print(guest.getresponse().status)
EOF
part stop
systemctl --user stop keyway.service
systemctl --user show keyway.service --property=Result
part uninstall
try "$KEYWAY" service uninstall --yes
part after
try "$KEYWAY" service status
ls "$XDG_CONFIG_HOME/systemd/user"
try systemctl --user is-active keyway.socket
