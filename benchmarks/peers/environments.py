"""One virtual environment for each peer, made from `benchmarks/constraints-<name>.txt`.

    python benchmarks/peers/environments.py             make all that are missing or out of date
    python benchmarks/peers/environments.py ranx replay the named ones only
    python benchmarks/peers/environments.py --list      say which exist

The environments are in `.envs/<name>` at the root of the repository. Each holds a stamp, the hash of the file
that it was made from: while that is unchanged the environment is used as it is. Needs the standard library
only; other scripts ask `python_of(name)` for an environment's interpreter.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent
ENVIRONMENTS = BENCHMARKS.parent / ".envs"
STAMP = "constraints.sha256"
# They ask for gigabytes that their metrics do not import; their files name all that is needed.
WITHOUT_DEPENDENCIES = {"recommenders", "recpack"}


class InstallationError(RuntimeError):
    """pip could not make an environment."""


def peers() -> list[str]:
    """The names of all peers: those that have a file of constraints."""
    return sorted(path.stem.removeprefix("constraints-") for path in BENCHMARKS.glob("constraints-*.txt"))


def python_of(name: str) -> Path | None:
    """The interpreter of a peer's environment; None where it is missing, half made or out of date."""
    stamp = ENVIRONMENTS / name / STAMP
    is_current = constraints(name).is_file() and stamp.is_file() and stamp.read_text() == fingerprint(name)
    return interpreter(name) if is_current else None


def make(name: str) -> Path:
    """Make a peer's environment anew and give its interpreter.

    The stamp is written last, so that an interrupted installation is not taken for an environment.
    """
    ENVIRONMENTS.mkdir(exist_ok=True)
    (ENVIRONMENTS / ".gitignore").write_text("*\n")
    venv.EnvBuilder(with_pip=True, clear=True).create(ENVIRONMENTS / name)
    python = interpreter(name)
    command = [
        python,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        *(["--no-deps"] if name in WITHOUT_DEPENDENCIES else []),
        "--requirement",
        constraints(name),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise InstallationError(f"{name}: pip failed on {constraints(name).name}\n{result.stderr.strip()}")
    (ENVIRONMENTS / name / STAMP).write_text(fingerprint(name))
    return python


def constraints(name: str) -> Path:
    """The file that pins every package of a peer's environment."""
    return BENCHMARKS / f"constraints-{name}.txt"


def fingerprint(name: str) -> str:
    """The hash of a peer's constraints."""
    return hashlib.sha256(constraints(name).read_bytes()).hexdigest()


def interpreter(name: str) -> Path:
    """Where a peer's interpreter is, or will be."""
    return ENVIRONMENTS / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def main() -> int:
    """The command line; gives 1 if an environment could not be made."""
    parser = argparse.ArgumentParser(description="Make the peers' environments.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(peers())}; all if none is given")
    parser.add_argument("--list", action="store_true", help="say which exist, make none")
    arguments = parser.parse_args()
    names = arguments.names or peers()
    unknown = sorted(set(names) - set(peers()))
    if unknown:
        parser.error(f"no such peer: {', '.join(unknown)}; there are {', '.join(peers())}")
    if arguments.list:
        for name in names:
            print(f"{name}: {'ready' if python_of(name) else 'missing'}")
        return 0
    failed = [name for name in names if not _ready(name)]
    return 1 if failed else 0


def _ready(name: str) -> bool:
    """Make one environment if need be, and say what was done."""
    if python_of(name):
        print(f"{name}: ready")
        return True
    print(f"{name}: installing", flush=True)
    try:
        make(name)
    except InstallationError as error:
        print(error, file=sys.stderr)
        return False
    print(f"{name}: ready")
    return True


if __name__ == "__main__":
    sys.exit(main())
