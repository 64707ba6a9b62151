#!/bin/bash
set -euo pipefail

python3 - <<'PYTHON'
import csv
from collections import defaultdict
from pathlib import Path

readings = defaultdict(list)
with open("/data/readings.csv") as file:
    for row in csv.DictReader(file):
        readings[row["sensor"]].append(float(row["celsius"]))

# Drift lasts to the end, so the last reading shows it; a day of them is more than any outlier.
faulty = [sensor for sensor, all_ in readings.items() if all(abs(c - all_[0]) > 1 for c in all_[-24:])]
Path("/app/faulty.txt").write_text("".join(f"{sensor}\n" for sensor in sorted(faulty)))
PYTHON

cat /app/faulty.txt
