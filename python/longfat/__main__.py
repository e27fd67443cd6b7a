"""The command `longfat`, also as `python -m longfat`.

Most of the time until it does anything goes into loading what it stands on. Ctrl-C ends that with one line, too, and so nothing is
imported before this module has said what becomes of it that the interpreter has not loaded itself.
"""

# `signal` without its names, which take longer. It has no types.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
import _signal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130  # as in longfat.errors
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Runs the command, and exits."""
    # A shell starts background processes with SIGINT ignored: it stays ignored.
    heeded = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
    if heeded:
        _signal.signal(_signal.SIGINT, _leave)
        sys.unraisablehook = _unraisable
    from longfat.cli import output

    output.guard()
    from longfat.cli.app import main as command

    try:
        if heeded:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        command()
    except KeyboardInterrupt:
        _leave()
    finally:
        # All is done. What is left is the interpreter's own end, which gives every other handler back to the system: Ctrl-C would kill it.
        if heeded:
            _signal.signal(_signal.SIGINT, _signal.SIG_IGN)


def _leave(number: int = _signal.SIGINT, frame: "FrameType | None" = None) -> None:
    """Ends the process where there is nothing to clear up."""
    del number, frame
    os.write(2, b"Stopped.\n")
    os._exit(INTERRUPTED)


def _unraisable(what: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C in a place that can pass no exception on, such as a destructor."""
    if issubclass(what.exc_type, KeyboardInterrupt):
        _leave()
    sys.__unraisablehook__(what)


def _end_with_parent(parent: int) -> None:
    """Has the system kill this process, a worker, when the command that started it ends in whatever way: prctl(2).

    This is the first thing that a worker does, since loading the rest takes seconds on a busy machine.
    """
    import ctypes

    if call := getattr(ctypes.CDLL(None), "prctl", None):  # Linux alone has it
        call(PR_SET_PDEATHSIG, ctypes.c_ulong(_signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main()
elif "--multiprocessing-fork" in sys.orig_argv:
    _end_with_parent(int(os.environ.get("LONGFAT_PARENT", os.getppid())))
