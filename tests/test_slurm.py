"""An array job on a real Slurm, of one node, which the test starts."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import longfat
import pytest
from conftest import SWEEP, command
from longfat import Experiment
from longfat.store import TABLES

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
MISSING = [name for name in NEEDED if not shutil.which(name, path=PATH)]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=f"no {', '.join(MISSING)}: make system-packages installs Slurm")]

CONF = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={home}/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={home}
SlurmdSpoolDir={home}
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture(scope="module")
def slurm() -> Generator[dict[str, str]]:
    """The environment in which `sbatch` finds the cluster."""
    home = Path(tempfile.mkdtemp(prefix="slurm"))  # a socket's path is short
    key = home / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    host = socket.gethostname().split(".")[0]
    text = CONF.format(host=host, user=pwd.getpwuid(os.getuid()).pw_name, home=home, ports=free_ports(2), cpus=os.cpu_count())
    (home / "slurm.conf").write_text(text)
    environment = os.environ | {"PATH": PATH, "SLURM_CONF": str(home / "slurm.conf")}
    munged = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={home}/munge", f"--pid-file={home}/munged.pid"]
    munged += [f"--log-file={home}/munged.log", f"--seed-file={home}/seed"]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        with (home / "log").open("wb") as log:
            for call in (munged, ["slurmctld", "-D"], ["slurmd", "-D"]):
                processes.append(subprocess.Popen(call, env=environment, stdout=log, stderr=log))
                time.sleep(2)
        for _ in range(60):
            found = subprocess.run(["sinfo", "-h", "-o", "%t"], env=environment, capture_output=True, text=True, check=False)
            if found.stdout.strip() == "idle":
                break
            time.sleep(1)
        else:
            pytest.skip(f"Slurm does not start here: {found.stderr.strip()} {(home / 'log').read_text(errors='replace')[-500:]}")
        yield environment
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(30)
        shutil.rmtree(home)


def submit(slurm: dict[str, str], folder: Path, *options: str) -> None:
    subprocess.run(["sbatch", "--wait", *options, "small.slurm"], cwd=folder, env=slurm, check=False, capture_output=True, timeout=600)


def test_an_array_job_gives_the_tables_of_one_process(slurm: dict[str, str], tmp_path: Path) -> None:
    text = f"repeats = 4\nseed = 3\n{SWEEP}"
    (tmp_path / "small.toml").write_text(text)
    written = command("submit", "small.toml", "--slurm", "--tasks", "3", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    # Two of the three tasks: what the third would have done is missing, and is said to be.
    submit(slurm, tmp_path, "--array=1,3")
    short = command("gather", "small.toml", "--shards", "3", cwd=tmp_path)
    assert "4 of 12 runs are missing" in short.stderr, (tmp_path / "small-1.log").read_text()
    assert "longfat run small.toml --shard 2/3\n" in short.stderr
    submit(slurm, tmp_path)
    done = command("gather", "small.toml", "--shards", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made, expected = longfat.load_results(tmp_path / "results" / "small"), Experiment(text).sweep()
    for name in TABLES:
        assert getattr(made, name).equals(getattr(expected, name)), name
    assert "results in results/small" in (tmp_path / "small-2.log").read_text()


def test_the_python_of_the_job_is_this_one(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SWEEP)
    command("submit", "small.toml", "--slurm", cwd=tmp_path)
    assert sys.executable in (tmp_path / "small.slurm").read_text()
