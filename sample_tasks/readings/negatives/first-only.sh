#!/bin/bash
# why = "stops at the first faulty sensor"
# fails = ["test_all_faulty_sensors_are_found"]
set -euo pipefail

python3 - <<'PYTHON'
import csv
from collections import defaultdict
from pathlib import Path

readings = defaultdict(list)
with open("/data/readings.csv") as file:
    for row in csv.DictReader(file):
        readings[row["sensor"]].append(float(row["celsius"]))

faulty = min(sensor for sensor, all_ in readings.items() if all(abs(c - all_[0]) > 1 for c in all_[-24:]))
Path("/app/faulty.txt").write_text(f"{faulty}\n")
PYTHON
