#!/bin/bash
# However this script ends, a reward is written.
mkdir -p /logs/verifier
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT

# -I: neither the working directory nor the agent's environment variables can lend the grader a module.
python3 -I /tests/grade.py > /logs/verifier/ctrf.json
jq -r '.results.tests[] | if .status == "passed" then "passed \(.name)" else "FAILED \(.name): \(.message)" end' /logs/verifier/ctrf.json
jq -e '.results.summary.failed == 0 and .results.summary.passed > 0' /logs/verifier/ctrf.json > /dev/null && reward=1
