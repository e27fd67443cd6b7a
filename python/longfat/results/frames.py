"""Tables in the form that one likes, with the axes beside each row; parts of a sweep; tables across."""

# pandas leaves the type of cells open, and polars may not be there.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from longfat._longfat import quantity
from longfat.errors import LongfatError
from longfat.lazy import pd
from longfat.results.repeats import half_width

if TYPE_CHECKING:
    from longfat.results.results import Results

Form = Literal["pandas", "polars", "arrow"]
FORMS: tuple[Form, ...] = ("pandas", "polars", "arrow")
Label = str | float | bool


def in_form(table: pd.DataFrame, form: str) -> Any:
    """The table for pandas, polars or Arrow. LongfatError for another word, and where the library is not installed."""
    if form not in FORMS:
        raise LongfatError(f"form={form!r}: choose one of {', '.join(FORMS)}")
    if form == "pandas":
        return table
    import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

    made = pa.Table.from_pandas(table, preserve_index=False)
    if form == "arrow":
        return made
    try:
        return importlib.import_module("polars").from_arrow(made)
    except ImportError:
        raise LongfatError("form='polars' needs the package polars, which is not here: `pip install polars`, or take 'arrow'") from None


def with_axes(results: Results, table: pd.DataFrame) -> pd.DataFrame:
    """A table that has `run`, with the axes and the repeat behind it; a column of the same name stays, as `series_...`."""
    keys = [name for name in _key_columns(results) if name != "run"]
    own = table.rename(columns={name: f"series_{name}" for name in keys if name in table.columns})
    joined = own.merge(results.runs[["run", *keys]].drop_duplicates("run"), on="run", how="left", sort=False)
    return joined[["run", *keys, *(name for name in own.columns if name != "run")]]


def select(results: Results, asked: dict[str, Label | Iterable[Label]]) -> Results:
    """The runs in which every axis named has the value, or one of the values, asked for. LongfatError where there is none."""
    rows = pd.Series(data=True, index=results.runs.index)
    for axis, wanted in asked.items():
        if axis not in results.runs.columns or axis not in (*results.axes, "repeat", "seed"):
            known = [*results.axes, "repeat"]
            near = difflib.get_close_matches(axis, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise LongfatError(f"there is no axis {axis!r}: choose one of {', '.join(known)}{hint}")
        values = [wanted] if isinstance(wanted, str | int | float) else list(wanted)
        found = {text for text in results.runs[axis].unique() if any(_is(text, value) for value in values)}
        missing = [value for value in values if not any(_is(text, value) for text in found)]
        if missing:
            there = ", ".join(str(text) for text in results.runs[axis].unique())
            raise LongfatError(f"{axis} is never {missing[0]!r}: choose among {there}")
        rows &= results.runs[axis].isin(found)
    if not rows.any():
        raise LongfatError(f"no run has {', '.join(f'{axis} {value}' for axis, value in asked.items())} at once")
    runs = results.runs[rows].reset_index(drop=True)
    kept = runs[[name for name in _key_columns(results) if name in runs]]

    def part(table: pd.DataFrame) -> pd.DataFrame:
        # Two combinations may be the same run: a row is known by its labels, too.
        if table.empty or not set(kept.columns) <= set(table.columns):
            return table
        return table.merge(kept, on=list(kept.columns), how="inner").reset_index(drop=True)

    return replace(results, runs=runs, flows=part(results.flows), links=part(results.links), hosts=part(results.hosts))


def pivot(results: Results, values: str, index: str | None, columns: str | None) -> pd.DataFrame:
    """Means over repeats of a column of `runs` by one or two axes, in the order of the file; of `NAME_ci`, half of their intervals."""
    varied = [axis for axis in results.axes if results.runs[axis].nunique() > 1] or list(results.axes)
    metric = values.removesuffix("_ci")
    check_metric(results, metric)
    index = index or (varied[0] if varied else None)
    if index is None:
        raise LongfatError("this is one run, and has no axes to put across: `runs` is its table")
    left = [axis for axis in varied if axis != index]
    columns = columns or (left[0] if left else None)
    for axis in filter(None, (index, columns)):
        if axis not in results.axes:
            raise LongfatError(f"there is no axis {axis!r}: choose among {', '.join(results.axes)}")
    over = [axis for axis in varied if axis not in (index, columns)]
    if over:
        raise LongfatError(f"{', '.join(over)} has several values: choose one first, such as results.select({over[0]}=...)")
    by = [index, columns] if columns else [index]
    repeats = results.runs.groupby(by, sort=False)[metric]
    made = repeats.mean() if metric == values else repeats.agg(lambda some: half_width(list(some))).rename(values)
    if columns is None:
        return made.to_frame()
    return made.unstack().reindex(
        index=pd.Index(results.runs[index].unique(), name=index), columns=pd.Index(results.runs[columns].unique(), name=columns)
    )


def check_metric(results: Results, name: str) -> None:
    """LongfatError for what is no number of a run."""
    from longfat.results.repeats import metrics

    known = metrics(results)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f": choose one of {', '.join(known)}"
        raise LongfatError(f"there is no metric {name!r} of a run{hint}")


def _key_columns(results: Results) -> Sequence[str]:
    return ["run", *results.axes, "repeat"]


def _is(text: object, value: Label) -> bool:
    """Returns true if a label of an axis is `value`: the same word, or the same quantity ("1 GiB" and "1024 MiB", 8 and "8")."""
    asked = str(value).lower() if isinstance(value, bool) else str(value)
    if str(text) == asked:
        return True
    one, other = quantity(str(text)), quantity(asked)
    return one is not None and one == other
