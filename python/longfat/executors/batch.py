"""Array jobs of batch systems: each task is one shard, `longfat run NAME --shard N/COUNT`."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from longfat import terminal

MOST_TASKS = 1000
"""Of one array: Slurm refuses more unless its MaxArraySize (1001 by default) says otherwise."""
SUFFIX = {"slurm": "slurm", "htcondor": "condor", "kubernetes": "yaml"}
SUBMIT = {"slurm": "sbatch", "htcondor": "condor_submit", "kubernetes": "kubectl apply -f"}


@dataclass(frozen=True)
class Job:
    """What an array job is to do."""

    name: str
    arguments: list[str]
    """Of `longfat`, without the shard."""
    tasks: int
    longest_s: float
    """About how long the longest task takes."""
    cores: int
    folder: Path
    """Where it was written; paths are relative to it."""
    image: str
    claim: str

    @property
    def says(self) -> str:
        """A line for the head of the file."""
        counts = f"{terminal.count(self.tasks, 'task')} of {terminal.count(self.cores, 'core')}"
        return f"{self.name}: {counts}, the longest about {terminal.duration(self.longest_s)}"

    @property
    def limit_s(self) -> int:
        """For a system that ends tasks: with room for a slower machine. A task that is ended has lost the runs in flight alone."""
        return 60 * (10 + round(3 * self.longest_s / 60))


def plain(name: str) -> str:
    """A name that every system takes: small letters, digits and dashes, 50 at most."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50].strip("-") or "sweep"


def slurm(job: Job) -> str:
    """A script for `sbatch`."""
    command = shlex.join([sys.executable, "-m", "longfat", *job.arguments, "--jobs", str(job.cores)])
    return f"""\
#!/bin/bash
# {job.says}
#SBATCH --job-name={plain(job.name)}
#SBATCH --array=1-{job.tasks}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={job.cores}
#SBATCH --time={job.limit_s // 60}
#SBATCH --chdir={shlex.quote(str(job.folder))}
#SBATCH --output={plain(job.name)}-%a.log
exec {command} --shard "$SLURM_ARRAY_TASK_ID/{job.tasks}"
"""


def htcondor(job: Job) -> str:
    """A submit description for `condor_submit`."""
    words = ["-m", "longfat", *job.arguments, "--jobs", str(job.cores), "--shard", f"$(shard)/{job.tasks}"]
    # The manual's own quoting: words apart by spaces, single quotes around one that has any, and quotes doubled.
    quoted = " ".join("'{}'".format(word.replace("'", "''")) if re.search(r"[\s']", word) else word for word in words)
    shards = " ".join(str(number) for number in range(1, job.tasks + 1))
    return f"""\
# {job.says}
universe = vanilla
executable = {sys.executable}
arguments = "{quoted.replace('"', '""')}"
initialdir = {job.folder}
should_transfer_files = NO
request_cpus = {job.cores}
log = {plain(job.name)}.log
output = {plain(job.name)}-$(shard).log
error = {plain(job.name)}-$(shard).log
queue shard in ({shards})
"""


def kubernetes(job: Job) -> str:
    """A Job with an index for each task, as YAML. Its words are written as JSON, which YAML includes."""
    command = shlex.join(["longfat", *job.arguments, "--jobs", str(job.cores)])
    line = json.dumps(f'exec {command} --shard "$((JOB_COMPLETION_INDEX + 1))/{job.tasks}"')
    return f"""\
# {job.says}
apiVersion: batch/v1
kind: Job
metadata:
  name: {json.dumps(plain(job.name))}
spec:
  completions: {job.tasks}
  parallelism: {job.tasks}
  completionMode: Indexed
  backoffLimit: {3 * job.tasks}
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: longfat
          image: {json.dumps(job.image)}
          workingDir: /work
          command: ["sh", "-c", {line}]
          resources:
            requests: {{ cpu: "{job.cores}" }}
          volumeMounts:
            - {{ name: work, mountPath: /work }}
      volumes:
        - name: work
          persistentVolumeClaim: {{ claimName: {json.dumps(job.claim)} }}
"""


WRITERS: dict[str, Callable[[Job], str]] = {"slurm": slurm, "htcondor": htcondor, "kubernetes": kubernetes}
