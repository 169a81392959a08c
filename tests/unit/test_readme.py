"""The README is true: its example prints what it says, and CI runs its test command."""

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the README's code blocks in one language."""
    return [part.split("\n```")[0] for part in README.split(f"```{language}\n")[1:]]


def test_the_example_prints_what_the_readme_shows() -> None:
    """The main command's real output is in the README, character for character."""
    command = blocks("sh")[0].split("&&")[-1]
    arguments = shlex.split(command)[1:]
    printed = subprocess.run(
        [sys.executable, "-m", "certified_dp", *arguments], check=True, capture_output=True, text=True
    ).stdout
    assert printed.strip() == blocks("text")[0].strip()


def test_ci_runs_the_readmes_test_command() -> None:
    """CI takes the second command from the README."""
    assert "pytest" in blocks("sh")[1]
    assert "grep -m1 'pytest' README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    first = next(line for line in README.splitlines() if "pytest" in line)
    assert first == blocks("sh")[1].strip()
