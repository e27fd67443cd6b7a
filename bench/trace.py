"""CPU time and memory of `longfat trace`, beside tshark and tcptrace on the same file.

    python bench/trace.py [PACKETS]

Runs a flow that loses now and then, writes what its sender would have captured, and reads that in a process of its own: packets for
each second of CPU time, and peak memory of a quarter of the file and of all of it. The verdict and its model are part of it. The last
measurement is the whole command, its user CPU time as `time` has it. What is not installed is left out. Adds its row to bench.json.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import longfat
from longfat.capture.writer import SNAP

EXPERIMENT = """\
title = "A capture to read"

[path]
preset = "dumbbell"
rtt = "30 ms"
bottleneck = {{ rate = "1 Gbit/s", loss = {{ kind = "periodic", period = "300007 packets" }} }}
edge = {{ rate = "10 Gbit/s" }}

[[flow]]
stack = "linux"
traffic = "bulk"

[measure]
duration = "{seconds} s"
packets = "left1"
"""
READ = """\
import sys, time
from longfat._longfat import trace
from pathlib import Path
def kib(of):
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(of))
# From here on the peak is that of reading.
Path("/proc/self/clear_refs").write_text("5")
before, at = time.process_time(), kib("VmRSS")
trace([sys.argv[1]])
print(time.process_time() - before, kib("VmHWM") - at)
"""


def captured(folder: Path, packets: int) -> tuple[Path, int]:
    """A capture of about so many packets."""
    file = folder / f"of-{packets}.toml"
    # A second at 1 Gb/s has 83 000 data packets of 1500 bytes, and half as many ACKs.
    file.write_text(EXPERIMENT.format(seconds=max(1, round(packets / 100_000))), encoding="utf-8")
    made = folder / f"of-{packets}.pcapng"
    # (Results at rest would take longer than the run and the capture together.)
    return made, longfat.load(str(file)).resolve(0).execute().capture(made, "left1", "a capture to read", SNAP)


def cpu(command: list[str]) -> tuple[float, float]:
    """Seconds of CPU time that a command takes: user, and user and system."""
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = os.times()
    user, system = after.children_user - before.children_user, after.children_system - before.children_system
    return user, user + system


def main() -> None:
    """Measures, prints, writes."""
    packets = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    with tempfile.TemporaryDirectory() as name:
        few, few_count = captured(Path(name), packets // 4)
        many, count = captured(Path(name), packets)
        least: dict[Path, tuple[float, float]] = {}
        for file in (few, many):
            runs = [subprocess.run([sys.executable, "-c", READ, str(file)], capture_output=True, text=True, check=True) for _ in range(3)]
            least[file] = min((float(a), float(b)) for a, b in (run.stdout.split() for run in runs))
        row = {
            "trace": "a flow that loses now and then",
            "packets": count,
            "packets_per_cpu_second": round(count / least[many][0]),
            "memory_bytes": round(1024 * least[many][1]),
            "memory_of_a_quarter_bytes": round(1024 * least[few][1]),
        }
        print(
            f"longfat trace  {count:,} packets  {count / least[many][0] / 1e6:.2f} M packets/CPU s  "
            f"{least[many][1] / 1024:.1f} MB, of {few_count:,} packets {least[few][1] / 1024:.1f} MB"
        )
        user = min(cpu([sys.executable, "-m", "longfat", "trace", str(many)])[0] for _ in range(3))
        row["command_packets_per_user_second"] = round(count / user)
        print(f"the command    {user:.2f} s of user CPU, {count / user / 1e6:.2f} M packets/user s")
        others = {"tshark": ["tshark", "-n", "-q", "-r", str(many), "-z", "conv,tcp"], "tcptrace": ["tcptrace", "-lr", str(many)]}
        for program, command in others.items():
            if shutil.which(program):
                _, seconds = cpu(command)
                row[f"{program}_packets_per_cpu_second"] = round(count / seconds)
                print(f"{program:14} {count / seconds / 1e6:.2f} M packets/CPU s")
            else:
                print(f"{program:14} is not installed")
    path = Path("bench.json")
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    rows = [other for other in rows if "trace" not in other] + [row]
    path.write_text("[\n" + ",\n".join(f"  {json.dumps(one)}" for one in rows) + "\n]\n", encoding="utf-8")


main()
