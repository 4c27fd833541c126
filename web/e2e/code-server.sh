#!/bin/sh
# Makes the archive that `npm run editor` puts into a sandbox, with nothing but the registry of npm, and prints its path.
#
# `npm install code-server` alone wants GitHub: one library of its editor is named by an address there. The registry has
# that library too, so it is taken from there, and only what is compiled for a terminal and the log is built.
set -eu
version=4.96.4 # the last for Node 20
shelf="${CARREL_CACHE:-$HOME/.cache/carrel}/code-server/$version-node$(node -p 'process.versions.modules')"
if [ -e "$shelf/code-server.tar" ]; then
    echo "$shelf/code-server.tar"
    exit
fi
rm -rf "$shelf"
mkdir -p "$shelf"
cd "$shelf"
{
    echo '{"private": true}' >package.json
    npm install "code-server@$version" --ignore-scripts --no-audit --no-fund
    npm rebuild argon2
    cd node_modules/code-server/lib/vscode
    node -e '
        const { readFileSync, rmSync, writeFileSync } = require("node:fs")
        const about = JSON.parse(readFileSync("package.json", "utf8"))
        for (const [name, place] of Object.entries(about.dependencies))
            if (/^(git|https?:)|github/.test(place)) about.dependencies[name] = "*"
        writeFileSync("package.json", JSON.stringify({ ...about, scripts: {}, devDependencies: {} }))
        for (const lock of ["npm-shrinkwrap.json", "package-lock.json"]) rmSync(lock, { force: true })
    '
    npm install --omit=dev --ignore-scripts --no-audit --no-fund
    npm rebuild node-pty @vscode/spdlog native-watchdog @parcel/watcher
    cd "$shelf"
    tar -cf code-server.new node_modules
    mv code-server.new code-server.tar
    rm -rf node_modules
} >&2
echo "$shelf/code-server.tar"
