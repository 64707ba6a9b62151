"""Shells through a real engine, each in a real terminal."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from tests.engine.conftest import PATIENCE, Engine
from workbench import events as ev
from workbench import wishes
from workbench.session import TaskView
from workbench.ui.terminal.pty import HostPty
from workbench.ui.terminal.transport import Exit

_ENDED = re.compile(r"done\r\n[\s\S]*[#$] (\x1b\[[0-9;?]*[a-zA-Z])*\Z")
"""What shows that a line has been run: the prompt after it."""


class Typist:
    """Types into a shell and reads what it shows."""

    def __init__(self, ready: ev.ShellReady) -> None:
        self.title = ready.title
        self.text = ""
        self.ended: Exit | None = None
        self._pty = HostPty(ready.command)
        self._news = asyncio.Condition()
        self._telling: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        await self._pty.start(200, 24, self._receive, self._end)

    def _receive(self, data: bytes) -> None:
        self.text += data.decode(errors="replace")
        self._tell()

    def _end(self, ended: Exit) -> None:
        self.ended = ended
        self._tell()

    def _tell(self) -> None:
        async def tell() -> None:
            async with self._news:
                self._news.notify_all()

        task = asyncio.get_running_loop().create_task(tell())
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def run(self, line: str) -> str:
        """What a line prints. It is run whole, and the prompt is there again: nothing waits for input."""
        at = len(self.text)
        self._pty.write(f"{line}; echo do''ne\n".encode())
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(lambda: _ENDED.search(self.text, at)), PATIENCE)
        shown = self.text[at:].partition("done\r\n")[0].rpartition("do''ne\r\n")[2]
        return re.sub(r"\x1b\[\?\d+[hl]|\r", "", shown)

    async def leave(self, code: int) -> None:
        self._pty.write(f"exit {code}\n".encode())
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(lambda: self.ended), PATIENCE)

    def resize(self, columns: int, rows: int) -> None:
        self._pty.resize(columns, rows)

    async def close(self) -> None:
        await self._pty.close()


async def ask(engine: Engine, task: Path, shell: str, on: str = "") -> ev.ShellReady | ev.ShellFailed:
    """What comes of asking for a shell."""
    await engine.link.send(wishes.OpenShell(task=str(task), shell=shell, on=on))
    view = engine.session.task(str(task))
    await engine.until(lambda: shell in view.shells)
    word = view.shells[shell]
    assert not isinstance(word, ev.ShellLost)
    return word


@asynccontextmanager
async def typing(engine: Engine, task: Path, shell: str = "one", on: str = "") -> AsyncIterator[Typist]:
    """A shell that stands ready."""
    ready = await ask(engine, task, shell, on)
    assert isinstance(ready, ev.ShellReady)
    typist = Typist(ready)
    await typist.start()
    try:
        yield typist
    finally:
        await typist.close()


def processes(engine: Engine) -> set[int]:
    """Those of the engine's that live."""
    assert engine.link.pid is not None
    return {process.pid for process in psutil.Process(engine.link.pid).children(recursive=True)}


async def left(engine: Engine, wanted: set[int]) -> None:
    """Wait until only these of the engine's processes live; a machine's end takes a moment."""
    async with asyncio.timeout(PATIENCE):
        while processes(engine) != wanted:
            await asyncio.sleep(0.01)


async def opened(engine: Engine, task: Path) -> TaskView:
    """The task with no case run."""
    return await engine.open(task, watch=False, replay=False)


async def ran(engine: Engine, task: Path, case: str) -> TaskView:
    """The task with one case run."""
    view = await opened(engine, task)
    await engine.link.send(wishes.Replay(task=str(task), cases=(case,)))
    await engine.until(lambda: view.cases[case].decided and view.settled)
    return view


async def test_a_shell_that_is_asked_for_with_the_task_stands_on_its_image(
    engine: Engine, slugify: Path
) -> None:
    await engine.link.send(wishes.OpenTask(task=str(slugify), watch=False, replay=False))
    async with typing(engine, slugify) as shell:
        assert shell.title == "the image"
        assert await shell.run("pwd; ls; whoami") == "/app\nroot\n"
        assert await shell.run("find /tests /solution -type f") == ""


async def test_a_shell_on_a_case_has_what_its_agent_left_and_each_its_own(
    engine: Engine, slugify: Path
) -> None:
    await ran(engine, slugify, "oracle")
    async with (
        typing(engine, slugify, "one", "oracle") as one,
        typing(engine, slugify, "two", "oracle") as two,
        typing(engine, slugify, "image") as image,
    ):
        assert one.title == "what oracle left"
        assert await one.run("head -1 slugify.py") == "import re\n"
        await one.run("rm slugify.py")
        assert await one.run("ls") == ""
        assert await two.run("ls") == "slugify.py\n"
        assert await image.run("ls") == ""


async def test_sizes_and_exit_codes_pass_through(engine: Engine, slugify: Path) -> None:
    await opened(engine, slugify)
    async with typing(engine, slugify) as shell:
        assert await shell.run("stty size") == "24 200\n"
        shell.resize(132, 50)
        assert await shell.run("stty size") == "50 132\n"
        await shell.leave(7)
        assert shell.ended is not None
        assert shell.ended.code == 7


async def test_where_nothing_is_kept_the_reason_says_what_to_run(engine: Engine, slugify: Path) -> None:
    await opened(engine, slugify)
    failed = await ask(engine, slugify, "one", "oracle")
    assert isinstance(failed, ev.ShellFailed)
    assert failed.reason == "nothing is kept of what oracle left; run oracle as a whole trial first"


async def test_what_is_tried_is_a_run_of_its_own_that_proves_nothing(engine: Engine, slugify: Path) -> None:
    view = await ran(engine, slugify, "oracle")
    verdict = view.verdict
    async with typing(engine, slugify, on="oracle") as shell:
        await shell.run("mv slugify.py elsewhere")
        await engine.link.send(wishes.TryHere(task=str(slugify), shell="one"))
        await engine.until(lambda: "shell" in view.cases and view.cases["shell"].decided)
        [run] = view.cases["shell"].runs
        assert run.outcome is not None
        assert (run.outcome.kind, run.outcome.reward, run.outcome.met) == ("failed", 0.0, None)
        assert not run.outcome.whole
        assert run.why == "tried in a shell"
        assert [phase.name for phase in run.phases][-2:] == ["verifier", "teardown"]
        # The machine itself is as it was: the verifier ran beside it.
        assert await shell.run("ls; find /tests -type f") == "elsewhere\n"
        await shell.run("mv elsewhere slugify.py")
        await engine.link.send(wishes.TryHere(task=str(slugify), shell="one"))
        await engine.until(lambda: len([r for r in view.cases["shell"].runs if r.outcome]) == 2)
        newest = view.cases["shell"].runs[-1].outcome
        assert newest is not None
        assert (newest.kind, newest.reward) == ("passed", 1.0)
    assert view.verdict == verdict


async def test_a_draft_is_what_was_typed_for_a_new_negative_or_beside_the_solution(
    engine: Engine, slugify: Path
) -> None:
    await opened(engine, slugify)
    before = (slugify / "solution/solve.sh").read_text()
    async with typing(engine, slugify) as shell:
        await shell.run("cd /tmp")
        await shell.run("echo 'a  b' > \"c d\"")
        view = engine.session.task(str(slugify))
        for name in ("drops-words", ""):
            await engine.link.send(wishes.Draft(task=str(slugify), shell="one", name=name))
        await engine.until(lambda: len(view.drafts) == 2)
    paths = [draft.path for draft in view.drafts]
    assert sorted(paths) == ["negatives/drops-words/solve.sh", "solution/solve.draft-1.sh"]
    for path in paths:
        lines = (slugify / path).read_text().splitlines()
        assert lines[0] == "#!/bin/bash"
        assert lines[-2:] == ["cd /tmp; echo do''ne", "echo 'a  b' > \"c d\"; echo do''ne"]
        assert (slugify / path).stat().st_mode & stat.S_IXUSR
    assert (slugify / "solution/solve.sh").read_text() == before


async def test_a_draft_of_nothing_is_refused(engine: Engine, slugify: Path) -> None:
    await opened(engine, slugify)
    async with typing(engine, slugify):
        await engine.link.send(wishes.Draft(task=str(slugify), shell="one", name="new"))
        await engine.until(lambda: engine.said(ev.Notice))
    [notice] = engine.said(ev.Notice)
    assert notice.message.startswith("nothing is known of what was typed in this shell")
    assert not (slugify / "negatives/new").exists()


async def test_tests_and_solution_come_when_asked_for(engine: Engine, slugify: Path) -> None:
    await opened(engine, slugify)
    async with typing(engine, slugify) as shell:
        await engine.link.send(wishes.BringIn(task=str(slugify), shell="one"))
        await engine.until(lambda: engine.said(ev.Notice))
        assert "at /tests and /solution" in engine.said(ev.Notice)[0].message
        listed = await shell.run("find /tests /solution -type f | sort")
        assert listed.split() == [
            "/solution/solve.sh",
            "/tests/expected.json",
            "/tests/grade.py",
            "/tests/test.sh",
        ]


async def test_a_machine_that_ended_is_told_and_is_asked_for_no_more(engine: Engine, slugify: Path) -> None:
    view = await opened(engine, slugify)
    before = processes(engine)
    async with typing(engine, slugify) as shell:
        assert await shell.run("echo alive") == "alive\n"
        for pid in processes(engine) - before:
            os.kill(pid, 9)
        await engine.until(lambda: isinstance(view.shells["one"], ev.ShellLost))
        await engine.link.send(wishes.TryHere(task=str(slugify), shell="one"))
        await engine.until(lambda: engine.said(ev.Notice))
    assert engine.said(ev.Notice)[0].message == "this shell has no machine any more"
    assert not engine.said(ev.RunQueued)


async def test_closing_a_shell_deletes_its_machine_and_no_other(engine: Engine, slugify: Path) -> None:
    await opened(engine, slugify)
    before = processes(engine)
    async with typing(engine, slugify, "one"):
        first = processes(engine)
        async with typing(engine, slugify, "two"):
            pass
        second = processes(engine) - first
        assert second
        await engine.link.send(wishes.CloseShell(task=str(slugify), shell="two"))
        # Measured a while later, as costs are.
        await engine.until(lambda: not second & processes(engine) and engine.said(ev.CostsMeasured))
        assert processes(engine) - before == first - before
    await engine.link.send(wishes.CloseShell(task=str(slugify), shell="one"))
    await engine.until(lambda: (told := engine.said(ev.CostsMeasured)) and told[-1].machines == ())
    assert processes(engine) == before


async def test_asking_again_under_the_same_name_gives_a_new_machine(engine: Engine, slugify: Path) -> None:
    view = await opened(engine, slugify)
    async with typing(engine, slugify) as shell:
        await shell.run("touch mark")
    first = view.shells.pop("one")
    async with typing(engine, slugify) as shell:
        assert await shell.run("ls") == ""
    assert view.shells["one"] != first


async def test_what_machines_and_states_cost_is_told_by_what_they_stand_on(
    engine: Engine, slugify: Path
) -> None:
    await ran(engine, slugify, "oracle")
    async with typing(engine, slugify, on="oracle") as shell:
        await shell.run("head -c 30000000 /dev/zero > big; exec 3< <(sleep 60)")
        await engine.until(lambda: engine.session.costs and engine.session.costs.machines)
    assert engine.session.costs is not None
    [machine] = engine.session.costs.machines
    assert machine.stands_on == "what oracle left"
    assert machine.memory_bytes > 1 << 20
    assert machine.processes >= 2
    assert [state.stands_on for state in engine.session.costs.states] == ["what oracle left"]


async def test_the_machine_of_a_run_is_told_while_it_lives(engine: Engine, slugify: Path) -> None:
    (slugify / "solution/solve.sh").write_text("#!/bin/bash\nwhile [ ! -e /tmp/go ]; do sleep 0.1; done\n")
    await opened(engine, slugify)
    await engine.link.send(wishes.Replay(task=str(slugify), cases=("oracle",)))
    await engine.until(lambda: engine.session.costs and engine.session.costs.machines)
    assert engine.session.costs is not None
    [machine] = engine.session.costs.machines
    assert machine.stands_on == "a run of oracle"
    assert machine.processes >= 2
    await engine.link.send(wishes.Cancel(task=str(slugify)))
    await engine.until(lambda: engine.session.costs and not engine.session.costs.machines)


async def test_quitting_leaves_nothing_of_a_shell(engine: Engine, slugify: Path) -> None:
    await opened(engine, slugify)
    async with typing(engine, slugify) as shell:
        await shell.run("sleep 300 & true")
        mine = processes(engine)
        await engine.link.stop()
        await engine.ended()
        assert not [pid for pid in mine if psutil.pid_exists(pid)]
    machines = engine.link.options.state_dir / "machines"
    assert [path for path in machines.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("name", ["../x", "a b", "-x"])
async def test_a_name_that_is_none_is_refused(engine: Engine, slugify: Path, name: str) -> None:
    await opened(engine, slugify)
    async with typing(engine, slugify) as shell:
        await shell.run("true")
        await engine.link.send(wishes.Draft(task=str(slugify), shell="one", name=name))
        await engine.until(lambda: engine.said(ev.Notice))
    assert engine.said(ev.Notice)[0].message.startswith(f"{name!r} cannot name a negative")
    assert not engine.said(ev.DraftWritten)
