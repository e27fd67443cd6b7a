"""Array jobs of batch systems: each task is one shard, `longfat run NAME --shard N/COUNT`.

A job's words may hold anything but control characters, which no format can quote. Each writer quotes them by the rules of its format.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from longfat.errors import LongfatError
from longfat.text import check_name, count, duration

MOST_TASKS = 1000
"""Most tasks of one array: Slurm refuses more unless its MaxArraySize (1001 by default) says otherwise."""
SUFFIX = {"slurm": "slurm", "htcondor": "condor", "kubernetes": "yaml"}
SUBMIT = {"slurm": "sbatch", "htcondor": "condor_submit", "kubernetes": "kubectl apply -f"}


@dataclass(frozen=True)
class Job:
    """Description of an array job."""

    name: str
    arguments: list[str]
    """Arguments of `longfat`, without the shard."""
    tasks: int
    longest_s: float
    """About how long the longest task takes."""
    cores: int
    folder: Path
    """Folder where it was written; paths are relative to it."""
    image: str
    claim: str
    python: str = sys.executable

    def __post_init__(self) -> None:
        words = [("the name", self.name), ("the folder", str(self.folder)), ("--image", self.image), ("--claim", self.claim)]
        for what, word in (*words, ("the path of Python", self.python), *(("the argument", word) for word in self.arguments)):
            check_name(what, word)
            if any("\ud800" <= character <= "\udfff" for character in word):
                raise LongfatError(f"{what} {word!r} is not UTF-8, as a batch script is: rename it")

    @property
    def says(self) -> str:
        """A line for the head of the file."""
        counts = f"{count(self.tasks, 'task')} of {count(self.cores, 'core')}"
        return f"{self.name}: {counts}, the longest about {duration(self.longest_s)}"

    @property
    def limit_s(self) -> int:
        """Time limit for a system that ends tasks, with room for a slower machine. A task that is ended loses only the runs in flight."""
        return 60 * (10 + round(3 * self.longest_s / 60))


def plain(name: str) -> str:
    """A name that every system takes: small letters, digits and dashes, 50 at most."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50].strip("-") or "sweep"


def slurm(job: Job) -> str:
    """A script for `sbatch`."""
    command = shlex.join([job.python, "-m", "longfat", *job.arguments, "--jobs", str(job.cores)])
    # sbatch reads its own lines by rules of its own, and so the folder is left to the shell.
    return f"""\
#!/bin/bash
# {job.says}
#SBATCH --job-name={plain(job.name)}
#SBATCH --array=1-{job.tasks}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={job.cores}
#SBATCH --time={job.limit_s // 60}
#SBATCH --output={plain(job.name)}-%a.log
cd {shlex.quote(str(job.folder))} || exit
exec {command} --shard "$SLURM_ARRAY_TASK_ID/{job.tasks}"
"""


def htcondor(job: Job) -> str:
    """A submit description for `condor_submit`."""
    words = ["-m", "longfat", *job.arguments, "--jobs", str(job.cores), "--shard"]
    quoted = " ".join("'{}'".format(_condor(word).replace("'", "''")) for word in words)
    shards = " ".join(str(number) for number in range(1, job.tasks + 1))
    return f"""\
# {_condor(job.says)}
universe = vanilla
executable = {_condor(job.python)}
arguments = "{quoted.replace('"', '""')} $(shard)/{job.tasks}"
initialdir = {_condor(str(job.folder))}/
should_transfer_files = NO
request_cpus = {job.cores}
log = {plain(job.name)}.log
output = {plain(job.name)}-$(shard).log
error = {plain(job.name)}-$(shard).log
queue shard in ({shards})
"""


def _condor(word: str) -> str:
    """`word` as HTCondor takes it: `$` begins a macro there, and `$$`, which is filled in where a job is matched, has no escape."""
    if "$$" in word:
        raise LongfatError(f"{word!r} has `$$`, which HTCondor cannot quote: rename it")
    return word.replace("$", "$(DOLLAR)")


def kubernetes(job: Job) -> str:
    """A Job with an index for each task, as YAML. Its words are written as JSON, which YAML includes."""

    def quoted(word: str) -> str:
        # A character beyond 16 bits is two escapes in JSON, which YAML takes for two characters.
        return json.dumps(word, ensure_ascii=False)

    command = shlex.join(["longfat", *job.arguments, "--jobs", str(job.cores)])
    # Kubernetes puts variables of its own into a command: `$$` is a `$`.
    line = quoted(f'exec {command} --shard "$((JOB_COMPLETION_INDEX + 1))/{job.tasks}"'.replace("$", "$$"))
    return f"""\
# {job.says}
apiVersion: batch/v1
kind: Job
metadata:
  name: {quoted(plain(job.name))}
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
          image: {quoted(job.image)}
          workingDir: /work
          command: ["sh", "-c", {line}]
          resources:
            requests: {{ cpu: "{job.cores}" }}
          volumeMounts:
            - {{ name: work, mountPath: /work }}
      volumes:
        - name: work
          persistentVolumeClaim: {{ claimName: {quoted(job.claim)} }}
"""


WRITERS: dict[str, Callable[[Job], str]] = {"slurm": slurm, "htcondor": htcondor, "kubernetes": kubernetes}
