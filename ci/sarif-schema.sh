#!/usr/bin/env bash
# Checks what `heist scan --format sarif` prints against a copy of the published schema, with a real
# validator. By hand: the schema is not ours to keep here, and the validator is Python's
# `jsonschema`. crates/heist-cli/tests/it/scan_sarif.rs checks the same rules as far as they concern
# what is written.
#
#   ci/sarif-schema.sh sarif-schema-2.1.0.json [PATH...]
set -euo pipefail

schema=$(realpath "${1:?give a copy of sarif-schema-2.1.0.json}")
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0
cargo run --quiet -p heist-cli -- \
    scan --format sarif --confidence low --output "$log" "$@" || code=$?
if [ "$code" -gt 1 ]; then
    echo "the scan ended with $code" >&2
fi
python3 - "$schema" "$log" <<'PYTHON'
import json
import sys

import jsonschema

schema, log = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
validator = jsonschema.validators.validator_for(schema, jsonschema.Draft7Validator)
checker = validator(schema, format_checker=validator.FORMAT_CHECKER)
errors = list(checker.iter_errors(log))
for error in errors[:20]:
    print(f"{error.json_path}: {error.message}")
results = sum(len(run["results"]) for run in log["runs"])
print(f"{results} results, {len(errors)} errors by {validator.__name__}")
sys.exit(bool(errors))
PYTHON
