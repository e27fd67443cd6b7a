"""Executors of other packages: each is tried where it is installed, and none is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """\
import sys, tempfile
from conftest import SWEEP
from longfat import Experiment
from longfat.store import TABLES

{imports}
if __name__ == "__main__":
    experiment = Experiment("repeats = 7\\nseed = 3\\n" + SWEEP)
    with {executor} as executor:
        made = experiment.sweep(sys.argv[1], executor=executor, jobs=2)
    expected = experiment.sweep(jobs=1)
    assert len(made) == 21
    for name in TABLES:
        assert getattr(made, name).equals(getattr(expected, name)), name
"""
PARSL = """\
from parsl.concurrent import ParslPoolExecutor
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider
config = Config(
    executors=[HighThroughputExecutor(max_workers_per_node=2, address="127.0.0.1", provider=LocalProvider(init_blocks=1, max_blocks=1))],
    run_dir=tempfile.mkdtemp(),
)
"""
WAYS = {
    "parsl": (PARSL, "ParslPoolExecutor(config=config)"),
    "mpi4py": ("from mpi4py.futures import MPIPoolExecutor", "MPIPoolExecutor(max_workers=2)"),
}


@pytest.mark.parametrize("package", WAYS)
def test_the_tables_are_those_of_one_process(package: str, tmp_path: Path) -> None:
    pytest.importorskip(package)
    imports, executor = WAYS[package]
    (tmp_path / "sweep.py").write_text(PROGRAM.format(imports=imports, executor=executor), encoding="utf-8")
    call = [sys.executable, "sweep.py", "results"]
    if package == "mpi4py":
        mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
        if not mpiexec:
            pytest.skip("no mpiexec")
        call = [mpiexec, "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures", *call[1:]]
    here = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}", "PYTHONPATH": here}
    done = subprocess.run(call, cwd=tmp_path, env=os.environ | allowed | path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
