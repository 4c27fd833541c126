# What is done in the clean root, as the user of the image: serve, be healthy, make a desk, end.
set -euo pipefail
carrel serve --listen 127.0.0.1:0 >/tmp/out 2>/tmp/log &
server=$!
fail() {
    cat /tmp/out /tmp/log >&2
    echo "$1" >&2
    exit 1
}
until grep -q 'ready at' /tmp/out; do
    kill -0 "$server" 2>/dev/null || fail "the server did not start"
    sleep 0.1
done
CARREL_URL=$(sed -n 's/.*ready at //p' /tmp/out)
export CARREL_URL
# The health check of the image speaks to the port of the image; here the kernel chose one.
sed "s/7070/${CARREL_URL##*:}/" /health.sh >/tmp/health.sh
bash /tmp/health.sh || fail "the health check does not find a server that is well"
sandbox=$(carrel sandbox create --quiet --wait) || fail "no sandbox could be made"
said=$(carrel sandbox exec "$sandbox" -- sh -c 'id -u; git --version; echo from the inside') || fail "nothing runs inside"
echo "$said"
carrel sandbox rm "$sandbox" >/dev/null
kill -TERM "$server"
wait "$server" || fail "the server did not end in order"
if bash /tmp/health.sh 2>/dev/null; then fail "the health check finds a server that is gone"; fi
echo "a clean root: served, healthy, a sandbox, ended"
