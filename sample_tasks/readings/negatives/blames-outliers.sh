#!/bin/bash
# why = "takes a single outlier for a fault"
# fails = ["test_no_sound_sensor_is_blamed"]
set -euo pipefail

python3 - <<'PYTHON'
import csv
from collections import defaultdict
from pathlib import Path

readings = defaultdict(list)
with open("/data/readings.csv") as file:
    for row in csv.DictReader(file):
        readings[row["sensor"]].append(float(row["celsius"]))

faulty = [sensor for sensor, all_ in readings.items() if any(abs(c - all_[0]) > 1 for c in all_)]
Path("/app/faulty.txt").write_text("".join(f"{sensor}\n" for sensor in sorted(faulty)))
PYTHON
