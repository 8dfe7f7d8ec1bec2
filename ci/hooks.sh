#!/usr/bin/env bash
# What docs/git.md shows, tried with the real tools: the hook of `heist hook install` with real
# commits, `.pre-commit-hooks.yaml` with pre-commit from PyPI, the steps of `action.yml`, and the
# commands for CI. Needs the network, to install pre-commit; python3 and git.
set -euo pipefail
cd "$(dirname "$0")/.."
project=$PWD
heist=${HEIST:-}
if [[ -z $heist ]]; then
    cargo build --quiet -p heist-cli
    heist=$PWD/target/debug/heist
fi
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
mkdir "$temp/bin" "$temp/home"
ln -s "$heist" "$temp/bin/heist"
python3 -m venv "$temp/venv"
"$temp/venv/bin/pip" install --quiet --disable-pip-version-check pre-commit
export PATH=$temp/bin:$PATH HOME=$temp/home XDG_CONFIG_HOME=$temp/home/.config
export XDG_CACHE_HOME=$temp/home/.cache PRE_COMMIT_HOME=$temp/home/pre-commit
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$temp/home/gitconfig
git config --global user.name "A Tester"
git config --global user.email tester@localhost
git config --global init.defaultBranch main
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_EXEC_PATH
tried=0

# expect CODE TEXT COMMAND...: the command ends with this code, and what it prints has this text.
expect() {
    local code=$1 text=$2 status=0
    shift 2
    "$@" > "$temp/said" 2>&1 || status=$?
    if ((status != code)) || { [[ -n $text ]] && ! grep -qF -- "$text" "$temp/said"; }; then
        printf '%s\n' "$* ended with $status, expected $code and '$text':" >&2
        cat "$temp/said" >&2
        exit 1
    fi
    tried=$((tried + 1))
}

# secret FILE: writes a password that is different each time.
secret() {
    echo "password = \"$(head -c 9 /dev/urandom | od -An -tx1 | tr -d ' \n')\"" > "$1"
}

repository() {
    git init --quiet "$temp/$1"
    cd "$temp/$1"
    echo text > README
    git add README
    git commit --quiet --message first
}

echo "=== heist hook install"
repository hook
expect 0 installed heist hook install
secret app.ini
git add app.ini
expect 1 app.ini:1: git commit --message "with a secret"
git rm --quiet --cached app.ini
echo more >> README
expect 0 "" git commit --all --message "without a secret"
expect 0 removed heist hook uninstall
git add app.ini
expect 0 "" git commit --message "without the hook"

echo "=== pre-commit"
# What pre-commit clones: the hooks as they are here.
git init --quiet "$temp/hooks"
cp "$project/.pre-commit-hooks.yaml" "$temp/hooks"
git -C "$temp/hooks" add .pre-commit-hooks.yaml
git -C "$temp/hooks" commit --quiet --message hooks
repository pre-commit
cat > .pre-commit-config.yaml << EOF
repos:
  - repo: $temp/hooks
    rev: $(git -C "$temp/hooks" rev-parse HEAD)
    hooks:
      - id: heist
      - id: heist-files
        stages: [manual]
EOF
git add .pre-commit-config.yaml
expect 0 installed "$temp/venv/bin/pre-commit" install
expect 0 Passed git commit --message configuration
secret app.ini
git add app.ini
# What is staged counts, not what is in the work tree.
echo "password = from the environment" > app.ini
expect 1 app.ini:1: git commit --message "with a secret"
expect 2 "did not write" heist hook install
git add app.ini
expect 0 Passed git commit --message "without a secret"
expect 0 Passed "$temp/venv/bin/pre-commit" run --hook-stage manual --all-files heist-files
secret app.ini
git add app.ini
expect 1 app.ini:1: "$temp/venv/bin/pre-commit" run --hook-stage manual --all-files heist-files

echo "=== action.yml"
# The last step, as the runner calls it. The first one only builds heist.
mkdir -p "$temp/runner/heist/bin"
ln -s "$heist" "$temp/runner/heist/bin/heist"
"$temp/venv/bin/python" - "$project/action.yml" > "$temp/step.sh" << 'EOF'
import sys, yaml
action = yaml.safe_load(open(sys.argv[1]))
build, run = action["runs"]["steps"]
assert "$GITHUB_ACTION_PATH/crates/heist-cli" in build["run"], build
assert run["env"] == {"HEIST_ARGUMENTS": "${{ inputs.arguments }}"}, run
print(run["run"])
EOF
export RUNNER_TEMP=$temp/runner
expect 1 app.ini:1: env HEIST_ARGUMENTS="scan ." bash -e "$temp/step.sh"
# Nothing in the input is run as a command.
hostile="scan \$(touch $temp/proof) ; touch $temp/proof"
expect 2 "" env HEIST_ARGUMENTS="$hostile" bash -e "$temp/step.sh"
[[ ! -e $temp/proof ]]

echo "=== the commands for CI"
repository ci
git checkout --quiet -b change
secret new.ini
git add new.ini
git commit --quiet --message change
# shellcheck disable=SC2016
expect 1 new.ini:1: bash -o pipefail -c 'git diff main...HEAD | heist scan -'
expect 1 "" heist scan --format sarif --output report.sarif .
grep -q new.ini report.sarif
git checkout --quiet main
expect 0 "" heist scan .
echo "$tried commands did what docs/git.md says"
