"""Names cut to the room that there is: what is left of each tells it from the others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby, pairwise

from rich.cells import cell_len

_CUT = "…"


@lru_cache(maxsize=8)
def room_needed(names: frozenset[str]) -> int:
    """Cells in which the beginning of every name tells it from the others."""
    return max(
        (
            min(cell_len(name), cell_len(name[: max(places, default=0) + 1]) + len(_CUT))
            for name, places in _telling(names).items()
        ),
        default=0,
    )


@lru_cache(maxsize=8)
def shortened(names: frozenset[str], room: int) -> dict[str, str]:
    """Names, each within so many cells.

    One that is too long is cut at its end. Where that made it read like another, what goes is what it shares
    with others, in front or in the middle.
    """
    found = {}
    for name, places in _telling(names).items():
        if cell_len(name) <= room:
            found[name] = name
        elif cell_len(name[: max(places, default=0) + 1]) < room:
            found[name] = _drawn(name, set(_first(name, room - len(_CUT))))
        elif cell_len(name[min(places) :]) < room:
            found[name] = _drawn(name, set(_last(name, room - len(_CUT))))
        else:
            found[name] = _drawn(name, _kept(name, places, room))
    return found


def _telling(names: Iterable[str]) -> dict[str, list[int]]:
    """By name: where it first differs from one or more of the others."""
    ordered = sorted(set(names))
    shared = [_shared(one, other) for one, other in pairwise(ordered)]
    least = min(shared, default=0)
    telling = {}
    for at, name in enumerate(ordered):
        places = set()
        for way in (reversed(shared[:at]), shared[at:]):
            # The further another name is away in this order, the less they share.
            so_far = len(name) + 1
            for count in way:
                if count < so_far:
                    so_far = count
                    places.add(min(count, len(name) - 1))
                if so_far == least:
                    break
        telling[name] = sorted(places)
    return telling


def _shared(one: str, other: str) -> int:
    """How many characters two names have in common at their beginning."""
    differ = (at for at, (here, there) in enumerate(zip(one, other, strict=False)) if here != there)
    return next(differ, min(len(one), len(other)))


def _first(name: str, room: int) -> range:
    """The characters at the beginning that have room."""
    count = len(name)
    while cell_len(name[:count]) > room:
        count -= 1
    return range(count)


def _last(name: str, room: int) -> range:
    """The characters at the end that have room."""
    start = 0
    while cell_len(name[start:]) > room:
        start += 1
    return range(start, len(name))


def _kept(name: str, places: list[int], room: int) -> set[int]:
    """What to keep: the telling characters, and as much of what follows each of them as there is room for."""
    begun: set[int] = set()
    # The last ones tell apart what is alike the longest.
    for place in reversed(places):
        if cell_len(_drawn(name, begun | {place})) <= room:
            begun.add(place)

    def grown(by: int) -> set[int]:
        return {at for place in begun for at in range(place, min(place + by, len(name)))}

    def is_too_much(by: int) -> bool:
        return cell_len(_drawn(name, grown(by))) > room

    length = bisect_left(range(len(name)), True, 1, key=is_too_much) - 1
    kept = grown(length)
    for place in sorted(begun):
        more = kept | ({place + length} & set(range(len(name))))
        if cell_len(_drawn(name, more)) <= room:
            kept = more
    return kept


def _drawn(name: str, kept: set[int]) -> str:
    """A name with a sign for each stretch that is not kept, unless that takes no less room."""
    parts = []
    for is_kept, places in groupby(range(len(name)), key=kept.__contains__):
        part = "".join(name[place] for place in places)
        parts.append(part if is_kept or cell_len(part) <= 1 else _CUT)
    return "".join(parts)
