"""Commands about what users can set."""

from __future__ import annotations

import sys
from pathlib import Path

import click


def _directory(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and not value.is_dir():
        raise click.UsageError(f"{value}: there is no such directory")
    return value


_TASK = click.argument("task_dir", required=False, type=click.Path(path_type=Path), callback=_directory)
_FILE = click.option(
    "--config", metavar="FILE", type=click.Path(path_type=Path), help="Settings that go before all others."
)


@click.group(short_help="Show, find and check settings.")
def config() -> None:
    """Show, find and check settings: `--config FILE`, then a task's workbench.toml, then the user's own."""


@config.command()
@_TASK
@_FILE
def show(task_dir: Path | None, config: Path | None) -> None:
    """Print the settings in force, for a task or without one."""
    import tomlkit

    from workbench import settings
    from workbench.ui import keymap

    loaded = settings.load(task_dir, config, keymap.all_commands())
    for fault in loaded.faults:
        click.echo(f"left out: {fault}", err=True)
    document = tomlkit.document()
    for path in loaded.files:
        document.add(tomlkit.comment(f"from {path}"))
    for name in settings.Settings.__struct_fields__:
        document[name] = getattr(loaded.settings, name)
    click.echo(tomlkit.dumps(document), nl=False)


@config.command()
@_TASK
@_FILE
def path(task_dir: Path | None, config: Path | None) -> None:
    """Print where settings may be, the nearest first, and which are there."""
    from workbench import settings

    for file in settings.files(task_dir, config):
        click.echo(f"{file}{'' if file.is_file() else '  (not there)'}")


@config.command()
@_TASK
@_FILE
def validate(task_dir: Path | None, config: Path | None) -> None:
    """Check settings and themes. Exit codes: 0 when all is well, 2 when something would be left out."""
    from workbench import settings
    from workbench.ui import keymap, theme_files
    from workbench.ui.figures import count

    loaded = settings.load(task_dir, config, keymap.all_commands())
    faults = [str(fault) for fault in loaded.faults]
    faults += [f"keys: {fault}" for fault in keymap.faults(loaded.settings.keys)]
    themes, theme_faults = theme_files.load_all()
    faults += theme_faults
    faults += theme_files.unknown(loaded.settings.theme, (theme.name for theme in themes))
    for fault in faults:
        click.echo(fault, err=True)
    if faults:
        sys.exit(2)
    click.echo(f"{count(len(loaded.files), 'file')}, {count(len(themes), 'theme')}: all is well")


@config.command()
def schema() -> None:
    """Print the JSON Schema of a settings file."""
    from workbench import settings

    click.echo(settings.schema(), nl=False)
