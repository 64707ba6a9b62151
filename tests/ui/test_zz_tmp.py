from __future__ import annotations
import asyncio, time
from textual.pilot import Pilot
from tests.ui import task_streams as streams
from tests.ui.driving import app_for, screen_text, until
from tests.ui.streams import RecordedSource
from tests.ui.task_streams import PROMPT, TaskStream
from workbench.ui.shells.task_shells import TaskShells

def test_it(snap_compare):
    stream = streams.opened_task().costs()
    source = RecordedSource([*stream.events, *TaskStream(stream.now).shell().events])
    app = app_for(stream, source, shell=True)
    F=open("/tmp/dump4.txt","w")
    async def settle(pilot):
        t=time.time()
        def log(*a): print(round(time.time()-t,2), *a, file=F, flush=True)
        await until(pilot, lambda: source.all_taken and app.up_to_date)
        log("taken")
        for i in range(150):
            await pilot.pause()
            T=app.screen.query_one(TaskShells)
            if i%10==0: log(i, T.shells, T._heard, T._asked, [(w.name,w.state) for w in app.workers], T.classes)
        log(screen_text(app)[-3000:])
    assert snap_compare(app, terminal_size=(160,50), run_before=settle)
