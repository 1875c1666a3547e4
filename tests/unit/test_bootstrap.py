"""`./bootstrap` against commands that only note how they were called: no network, no change to this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

READ = ("bootstrap", "setup.cfg", "pyproject.toml", "telemetry/version.py", "constraints/board-numpy1.txt")
TOOLS = ("sh", "dirname", "cat", "sed", "tr", "cksum", "rm", "mkdir", "touch", "cp", "env")

PYTHON = """#!/bin/sh
case "$1 $2" in
"-c "*)
    if [ -e "$SANDBOX/too-old" ]; then exit 1; fi
    if [ -e "$SANDBOX/no-venv" ]; then
        printf '3.11\\n/usr/bin/python3\\nno\\nno\\n'
    else
        printf '3.11\\n%s\\nyes\\n%s\\n' "$0" "$(cat "$SANDBOX/vart" 2>/dev/null || echo no)"
    fi ;;
"-m venv")
    echo "venv $*" >>"$SANDBOX/log"
    for venv; do :; done
    mkdir -p "$venv/bin"
    touch "$venv/pyvenv.cfg"
    cp "$0" "$venv/bin/python"
    cp "$SANDBOX/kvbench" "$venv/bin/kvbench" ;;
"-m pip")
    echo "pip $*" >>"$SANDBOX/log"
    if [ -e "$SANDBOX/offline" ]; then exit 1; fi ;;
*)
    echo "python $*" >>"$SANDBOX/log" ;;
esac
"""
KVBENCH = '#!/bin/sh\nfor argument; do echo "kvbench <$argument>" >>"$SANDBOX/log"; done\nexit 5\n'
APT_GET = '#!/bin/sh\necho "apt-get $*" >>"$SANDBOX/log"\nif [ "$1" = install ]; then rm "$SANDBOX/no-venv"; fi\n'


@dataclass
class Sandbox:
    """A checkout with nothing but what bootstrap reads, and a PATH on which only noted commands exist."""

    root: Path

    @property
    def checkout(self) -> Path:
        return self.root / "a checkout"

    def command(self, name: str, text: str) -> Path:
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def state(self, name: str, text: str = "") -> None:
        (self.root / name).write_text(text)

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.root / "bin"), "SANDBOX": str(self.root), "HOME": str(self.root), **variables}
        command = [self.checkout / "bootstrap", *arguments]
        return subprocess.run(command, cwd=self.root, env=environment, text=True, capture_output=True, check=False)

    def log(self) -> list[str]:
        """What was called since the last look."""
        path = self.root / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines


@pytest.fixture
def sandbox(tmp_path: Path, repository: Path) -> Sandbox:
    box = Sandbox(tmp_path)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / "bin" / tool).symlink_to(found)
    for folder in ("telemetry", "constraints"):
        (box.checkout / folder).mkdir(parents=True)
    for file in READ:
        shutil.copy(repository / file, box.checkout / file)
    box.command("python3", PYTHON)
    box.command("id", "#!/bin/sh\necho 1000\n")
    box.command("grep", "#!/bin/sh\nexit 1\n")  # the device tree is not AMD's, whatever machine this is
    box.state("kvbench", KVBENCH)
    (tmp_path / "kvbench").chmod(0o755)
    return box


def test_the_first_run_installs_and_the_next_needs_no_network(sandbox: Sandbox) -> None:
    sandbox.run("profile", "--board", "auto")
    venv = f"{sandbox.checkout}/.venv-3.11"
    options = f"--quiet --disable-pip-version-check --editable {sandbox.checkout}"
    assert sandbox.log() == [
        f"venv -m venv --clear {venv}",
        f"pip -m pip install {options}",
        "kvbench <profile>",
        "kvbench <--board>",
        "kvbench <auto>",
    ]
    assert sandbox.run("run", "inspect", "a model.xmodel").stderr == ""
    assert sandbox.log() == ["kvbench <inspect>", "kvbench <a model.xmodel>"]


def test_profile_without_arguments_profiles_the_demo_models_on_the_virtual_board(sandbox: Sandbox) -> None:
    done = sandbox.run("profile")
    words = [line.removeprefix("kvbench ") for line in sandbox.log() if line.startswith("kvbench ")]
    assert "".join(words) == "<profile><--demo><--board><virtual><--runs><5><--duration><8>"
    assert done.returncode == 5, "the job's exit code is handed on"
    assert done.stdout == "", "what bootstrap says itself goes to standard error"


def test_test_and_lint_add_their_extras_and_keep_those_there(sandbox: Sandbox) -> None:
    sandbox.run("run")
    sandbox.run("test", "-k", "one or two")
    assert [line.rpartition("--editable ")[2] for line in sandbox.log() if line.startswith(("pip", "python"))] == [
        f"{sandbox.checkout}",
        f"{sandbox.checkout}[test,execution,images]",
        "python -m pytest -k one or two",
    ]
    sandbox.run("lint")
    assert sandbox.log()[0].endswith(f"{sandbox.checkout}[test,execution,images,lint]")


@pytest.mark.parametrize("file", [file for file in READ if file != "bootstrap"])
def test_a_change_of_what_decides_the_dependencies_installs_again(sandbox: Sandbox, file: str) -> None:
    sandbox.run("test")
    sandbox.log()
    with (sandbox.checkout / file).open("a") as changed:
        changed.write("\n# changed\n")
    sandbox.run("run", "top")
    assert sandbox.log()[0].endswith("[test,execution,images]")


def test_a_failed_installation_is_tried_again(sandbox: Sandbox) -> None:
    sandbox.state("offline")
    failed = sandbox.run("run", "top")
    assert failed.returncode == 69
    assert "is the network there?" in failed.stderr
    (sandbox.root / "offline").unlink()
    sandbox.log()
    sandbox.run("run", "top")
    assert sandbox.log()[0].startswith("pip ")


def test_a_moved_checkout_gets_a_new_environment(sandbox: Sandbox) -> None:
    sandbox.run("run", "top")
    sandbox.log()
    (sandbox.checkout / ".venv-3.11/made-by").write_text("another place\n")
    sandbox.run("run", "top")
    assert sandbox.log()[0].startswith("venv ")


def test_a_folder_that_is_no_environment_is_left_alone(sandbox: Sandbox) -> None:
    (sandbox.root / "precious").mkdir()
    refused = sandbox.run("run", "top", KVBENCH_VENV=f"{sandbox.root}/precious")
    assert refused.returncode == 69
    assert sandbox.log() == []


def test_a_python_that_is_too_old_is_refused_in_one_line(sandbox: Sandbox) -> None:
    sandbox.state("too-old")
    refused = sandbox.run("run", "top", PYTHON="python3")
    assert refused.returncode == 69
    assert refused.stderr == "bootstrap: PYTHON=python3 is no Python 3.10 or newer; name another, or unset it\n"


def test_the_first_python_that_is_new_enough_is_taken(sandbox: Sandbox) -> None:
    sandbox.command("python3", "#!/bin/sh\nexit 1\n")
    python = sandbox.command("python3.10", PYTHON.replace("3.11", "3.10"))
    sandbox.run("run", "top")
    assert (sandbox.checkout / ".venv-3.10/made-by").read_text().startswith(str(python))


def test_a_user_on_a_bare_debian_is_told_the_one_apt_line(sandbox: Sandbox) -> None:
    sandbox.state("no-venv")
    sandbox.command("apt-get", APT_GET)
    refused = sandbox.run("profile")
    assert refused.returncode == 69
    [line] = refused.stderr.splitlines()
    said, _, apt_line = line.partition("; as root: ")
    assert said == "bootstrap: /usr/bin/python3 cannot make virtual environments"
    assert apt_line.startswith("apt-get update && apt-get install -y python3")
    assert apt_line.endswith("-venv")
    assert sandbox.log() == []


def test_root_on_a_bare_debian_gets_it_installed(sandbox: Sandbox) -> None:
    sandbox.state("no-venv")
    sandbox.command("apt-get", APT_GET)
    sandbox.command("id", "#!/bin/sh\necho 0\n")
    sandbox.run("run", "top")
    update, install, venv, _, job = sandbox.log()
    assert update == "apt-get update -qq"
    assert install.startswith("apt-get install -y -qq --no-install-recommends python3")
    assert venv.startswith("venv ")
    assert job == "kvbench <top>"


def test_without_apt_the_missing_part_is_named(sandbox: Sandbox) -> None:
    sandbox.state("no-venv")
    refused = sandbox.run("run", "top")
    assert refused.returncode == 69
    assert "install python3" in refused.stderr


@pytest.mark.parametrize(
    "sign",
    [
        pytest.param(lambda box: box.state("vart", "yes"), id="importable vart"),
        pytest.param(lambda box: box.command("grep", "#!/bin/sh\nexit 0\n"), id="device tree"),
    ],
)
def test_on_a_board_the_system_packages_stay_visible_and_numpy_stays_at_1(
    sandbox: Sandbox, sign: Callable[[Sandbox], object]
) -> None:
    sign(sandbox)
    sandbox.run("run", "top", PYTHON="python3")
    venv, pip, _ = sandbox.log()
    assert "--system-site-packages" in venv.split()
    assert pip.endswith(f"--constraint {sandbox.checkout}/constraints/board-numpy1.txt")


def test_an_unknown_job_is_refused_after_the_list_of_jobs(sandbox: Sandbox) -> None:
    refused = sandbox.run("profil")
    assert refused.returncode == 64
    assert refused.stderr.splitlines()[-1] == "bootstrap: there is no job called 'profil'"


def test_without_a_job_the_help_is_printed(sandbox: Sandbox) -> None:
    assert sandbox.run().stdout == sandbox.run("help").stdout
    assert sandbox.log() == []


def test_shell_scripts_are_clean(repository: Path) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    checked = subprocess.run(
        ["shellcheck", repository / "bootstrap", repository / ".ci/run"], capture_output=True, text=True, check=False
    )
    assert checked.stdout == ""


@pytest.mark.parametrize("script", ["bootstrap", ".ci/run"])
def test_scripts_can_be_started(repository: Path, script: str) -> None:
    assert os.access(repository / script, os.X_OK)
