#!/bin/bash
# However this script ends, a reward is written.
mkdir -p /logs/verifier
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT

# expected.json is the step's own.
python3 -I /tests/grade.py /tests/expected.json && reward=1
