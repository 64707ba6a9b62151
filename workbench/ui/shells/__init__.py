"""The task's shells: asked of the engine, shown in the pane, and what can be done from them."""
