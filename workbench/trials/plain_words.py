"""Harbor's exceptions in plain words: what happened, and what to look at."""

from __future__ import annotations

import re

type Words = tuple[str, str]
"""What happened, and what to do; the second may be empty."""

NO_REWARD = "RewardFileNotFoundError"
UNREADABLE_REWARD = frozenset({"RewardFileEmptyError", "VerifierOutputParseError", "ValidationError"})
INFRASTRUCTURE = frozenset(
    {
        "EnvironmentStartTimeoutError",
        "SandboxBuildFailedError",
        "SandboxLikelyOutOfMemoryError",
        "MemoryLimitExceededError",
        "AddTestsDirError",
        "DownloadVerifierDirError",
        "AgentSetupTimeoutError",
        "MachineDiedError",
        "MachineError",
        "ImageError",
    }
)
"""Exceptions that say nothing about the harness: the run could not be held."""

NOT_STARTED = "NotStarted"
"""No exception of Harbor's: one of the machine's, before anything ran in it."""

_OUT_OF_MEMORY: Words = ("the environment was killed for memory", "raise [environment] memory_mb")
_WORDS: dict[str, Words] = {
    "AgentTimeoutError": ("the agent ran into its timeout", "raise [agent] timeout_sec or make it quicker"),
    "VerifierTimeoutError": (
        "the verifier ran into its timeout",
        "raise [verifier] timeout_sec or find what hangs in tests/test.sh",
    ),
    "EnvironmentStartTimeoutError": (
        "the environment did not start in time",
        "raise [environment] build_timeout_sec or see what its start waits for",
    ),
    "AgentSetupTimeoutError": ("the agent could not be installed in time", ""),
    "HealthcheckError": ("the environment never became healthy", "run [environment.healthcheck] by hand"),
    "SandboxBuildFailedError": ("the image could not be built", ""),
    "SandboxLikelyOutOfMemoryError": (
        "the environment was killed for memory",
        "raise [environment] memory_mb",
    ),
    "MemoryLimitExceededError": ("the environment was killed for memory", "raise [environment] memory_mb"),
    NO_REWARD: (
        "the verifier wrote no reward file",
        "have tests/test.sh write /logs/verifier/reward.txt or reward.json on every way out",
    ),
    "RewardFileEmptyError": ("the reward file is empty", "write one number to /logs/verifier/reward.txt"),
    "VerifierOutputParseError": (
        "the reward file cannot be read",
        "reward.txt holds one finite number, reward.json an object of finite numbers",
    ),
    "ValidationError": (
        "the reward file cannot be read",
        'reward.json holds an object of numbers, such as {"reward": 1.0}',
    ),
    "AddTestsDirError": ("the tests could not be copied into the environment", ""),
    "DownloadVerifierDirError": ("the verifier's files could not be copied out of the environment", ""),
    "MachineDiedError": (
        "the machine died",
        "run the case again; `workbench doctor` tells what the host lacks",
    ),
    "MachineError": ("the machine failed", ""),
    "ImageError": ("the image cannot be used", ""),
    NOT_STARTED: ("the environment did not start", "its image is there: what starts on it does not"),
    "RegradeError": ("the run cannot be verified again on its own", ""),
    "CancelledError": ("cancelled", ""),
}

# What a script prints when the reason lies before its own checks.
_CAUSES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"(?:bad interpreter|env: .?bash.?\\?r|\$'\\r'|cannot execute: required file not found)"),
        "the script's interpreter line cannot be followed; Windows line endings (CRLF) do that",
    ),
    (re.compile(r"Permission denied", re.I), "something may not be written or run there"),
    (re.compile(r"No space left on device"), "the disk is full"),
)


def exception_name(name: str, message: str) -> str:
    """The class that says what happened.

    Harbor gives its oracle's script the agent's timeout in whole seconds too, and where that strikes
    first, the environment's own error is what the trial records.
    """
    if name == "RuntimeError" and message.startswith("Command timed out after"):
        return "AgentTimeoutError"
    return name


def in_plain_words(exception: str, message: str, printed: str = "") -> Words:
    """What an exception of Harbor's means.

    Args:
        exception: The class's name.
        message: The exception's own message.
        printed: What the script at fault printed, which often holds the cause.
    """
    what, hint = _WORDS.get(exception, ("", ""))
    if not what:
        first = next((line.strip() for line in message.splitlines() if line.strip()), "no message")
        return f"{exception}: {first}", ""
    if seconds := re.search(r"after ([\d.]+) seconds", message):
        what = f"{what} of {float(seconds[1]):g} s"
    elif exception not in (NO_REWARD, "CancelledError") and message and exception not in UNREADABLE_REWARD:
        what = f"{what}: {message.strip().splitlines()[0]}"
    if exception == NO_REWARD:
        cause = next((cause for pattern, cause in _CAUSES if pattern.search(printed)), "")
        what = f"{what}: {cause}" if cause else what
    return what, hint
