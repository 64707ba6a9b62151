"""Print the readings; the same on every machine."""

import random

SENSORS = 40
HOURS = 96
FAULTY = ("s07", "s19", "s23", "s38")

chance = random.Random(20250101)
first = {f"s{number:02}": chance.uniform(15, 25) for number in range(SENSORS)}
fault = {sensor: chance.randrange(24, 72) for sensor in FAULTY}
outliers = {(hour, sensor) for sensor in ("s03", "s19", "s31") for hour in chance.sample(range(1, 20), 2)}

print("hour,sensor,celsius")
for hour in range(HOURS):
    for sensor, base in first.items():
        celsius = base + chance.uniform(-0.4, 0.4) * (hour > 0)
        if hour >= fault.get(sensor, HOURS):
            celsius += 1.6
        elif (hour, sensor) in outliers:
            celsius += 5
        print(f"{hour},{sensor},{celsius:.3f}")
