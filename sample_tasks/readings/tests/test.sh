#!/bin/bash
# However this script ends, a reward is written.
mkdir -p /logs/verifier
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT

# -I: neither the working directory nor the agent's environment variables can lend the grader a module.
python3 -I /tests/grade.py && reward=1
